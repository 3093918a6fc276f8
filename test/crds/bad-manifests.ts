import type { Manifest } from './manifests.ts';

/** A manifest with one fault, what the API server says to it, and what our own parsing says. */
export type BadManifest = {
  /** In `bad/`, without the ending. */
  readonly file: string;
  /** What follows the object's name in the API server's message. */
  readonly server: string;
  /** Whether the API server adds that it did not judge the rest. */
  readonly more?: true;
  readonly ours: string;
};

const unchecked =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** The API server's whole message. */
export function serverMessage({ kind, metadata }: Manifest, { server, more }: BadManifest): string {
  if (server.startsWith('unknown field')) {
    return `${kind} in version "v1alpha1" cannot be handled as a ${kind}: strict decoding error: ${server}`;
  }
  const causes = more === true ? `[${server}, ${unchecked}]` : server;
  return `${kind}.modelgateway.dev "${metadata.name}" is invalid: ${causes}`;
}

export const badManifests: readonly BadManifest[] = [
  {
    file: 'node-queue-beyond-timeout',
    server: 'spec.concurrency: Invalid value: must have a queue.timeoutSeconds below timeouts.totalSeconds',
    ours: 'spec.concurrency: must have a queue.timeoutSeconds below timeouts.totalSeconds; a request must not wait for longer than it may take: lower queue.timeoutSeconds, or raise timeouts.totalSeconds',
  },
  {
    file: 'key-priority-unknown',
    server: 'spec.priority: Unsupported value: "Urgent": supported values: "High", "Normal", "Low"',
    more: true,
    ours: 'spec.priority: "Urgent" must be one of High, Normal, Low; use one of them',
  },
  {
    file: 'key-conversion-unknown',
    server: 'spec.conversion: Unsupported value: "lossy": supported values: "Lossy", "Strict"',
    more: true,
    ours: 'spec.conversion: "lossy" must be one of Lossy, Strict; did you mean Lossy?',
  },
  {
    file: 'key-expiration-as-date',
    server:
      'spec.expirationTime: Invalid value: "2027-01-31": spec.expirationTime in body should match \'^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$\', spec.expirationTime: Invalid value: "2027-01-31": spec.expirationTime in body must be of type date-time: "2027-01-31"',
    more: true,
    ours: 'spec.expirationTime: "2027-01-31" must be a time; write it like 2027-01-31T00:00:00Z',
  },
  {
    file: 'key-expiration-as-number',
    server:
      'spec.expirationTime: Invalid value: "int64": spec.expirationTime in body must be of type date-time: "int64"',
    more: true,
    ours: 'spec.expirationTime: must be a string, not a number; put it in quotes',
  },
  {
    file: 'key-expiration-not-on-calendar',
    server:
      'spec.expirationTime: Invalid value: "2027-02-30T00:00:00Z": spec.expirationTime in body must be of type date-time: "2027-02-30T00:00:00Z"',
    more: true,
    ours: 'spec.expirationTime: "2027-02-30T00:00:00Z" must be a day of the calendar; write it like 2027-01-31T00:00:00Z',
  },
  {
    file: 'key-hint-with-line-break',
    server: 'spec.hint: Invalid value: "a\\nb": must be visible ASCII',
    ours: 'spec.hint: must be visible ASCII; use letters, digits and punctuation',
  },
  {
    file: 'key-hint-without-hash',
    server: 'spec.hint: Invalid value: must not be set without hash',
    ours: 'spec.hint: must not be set without hash; remove hint; a generated key gets its own',
  },
  {
    file: 'key-models-empty',
    server: 'spec.models: Invalid value: 0: spec.models in body should have at least 1 items',
    ours: 'spec.models: must not be empty; fill it, or leave the field out',
  },
  {
    file: 'key-models-reserved',
    server: 'spec.models[0]: Invalid value: "*": must not be "*", which is reserved',
    ours: 'spec.models[0]: "*" must not be "*", which is reserved; write the name of a model; to mean every model, leave the list out',
  },
  {
    file: 'key-models-twice',
    server: 'spec.models[1]: Duplicate value: "b"',
    ours: 'spec.models[1]: "b" is in the list twice; remove one of the two',
  },
  {
    file: 'key-namespace-reserved',
    server: 'spec.nodeNamespaces[0]: Invalid value: "*": must be the name of a namespace',
    ours: 'spec.nodeNamespaces[0]: "*" must be the name of a namespace; use lower-case letters, digits and "-", with a letter or digit at both ends',
  },
  {
    file: 'key-overlap-beyond-every',
    server: 'spec.rotation.overlapSeconds: Invalid value: must not be longer than every',
    ours: 'spec.rotation.overlapSeconds: 86401 must not be longer than every; lower overlapSeconds, or raise every; a day has 86400 seconds',
  },
  {
    file: 'key-overlap-too-long',
    server:
      'spec.rotation.overlapSeconds: Invalid value: 2592001: spec.rotation.overlapSeconds in body should be less than or equal to 2592000',
    ours: 'spec.rotation.overlapSeconds: 2592001 must be at most 2592000; lower it',
  },
  {
    file: 'key-rotation-negative',
    server:
      'spec.rotation.revision: Invalid value: -1: spec.rotation.revision in body should be greater than or equal to 0',
    ours: 'spec.rotation.revision: -1 must be at least 0; raise it',
  },
  {
    file: 'key-rotation-every-with-hash',
    server: 'spec.rotation: Invalid value: must not be set without secretName',
    ours: 'spec.rotation: must not be set without secretName; remove rotation; to change a key given by hash, create another resource',
  },
  {
    file: 'key-rotation-too-seldom',
    server:
      'spec.rotation.every: Invalid value: 3651: spec.rotation.every in body should be less than or equal to 3650',
    ours: 'spec.rotation.every: 3651 must be at most 3650; lower it',
  },
  {
    file: 'key-rotation-without-secret',
    server: 'spec.rotation: Invalid value: must not be set without secretName',
    ours: 'spec.rotation: must not be set without secretName; remove rotation; to change a key given by hash, create another resource',
  },
  {
    file: 'key-secret-with-bad-name',
    server: 'spec.secretName: Invalid value: "A": must be a DNS-1123 name',
    ours: 'spec.secretName: "A" must be a DNS-1123 name; use lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
  },
  {
    file: 'key-template-with-bad-annotation-name',
    server:
      'spec.secretTemplate.annotations: Invalid value: must have names that Kubernetes takes for labels and annotations',
    ours: 'spec.secretTemplate.annotations: must have names that Kubernetes takes for labels and annotations; write names such as team or example.com/team',
  },
  {
    file: 'key-template-with-bad-label-name',
    server:
      'spec.secretTemplate.labels: Invalid value: must have names that Kubernetes takes for labels and annotations',
    ours: 'spec.secretTemplate.labels: must have names that Kubernetes takes for labels and annotations; write names such as team or example.com/team',
  },
  {
    file: 'key-template-with-bad-label',
    server: 'spec.secretTemplate.labels[team]: Invalid value: "a b": must be a valid value of a label',
    ours: 'spec.secretTemplate.labels.team: "a b" must be a valid value of a label; use letters, digits, "-", "_" and ".", with a letter or digit at both ends',
  },
  {
    file: 'key-template-without-secret',
    server: 'spec.secretTemplate: Invalid value: must not be set without secretName',
    ours: 'spec.secretTemplate: must not be set without secretName; remove secretTemplate; a key given by hash has no Secret',
  },
  {
    file: 'key-unknown-field',
    server: 'unknown field "spec.expiresAt"',
    ours: 'spec.expiresAt: is not a field; remove it; fields here are displayName, enabled, expirationTime, secretName, secretTemplate, hash, hint, rotation, models, nodeNamespaces, priority, conversion',
  },
  {
    file: 'key-with-plain-key-as-hash',
    server: 'spec.hash: Invalid value: "mgk_planted": must be "sha256:" and 64 lower-case hexadecimal digits',
    ours: 'spec.hash: must be "sha256:" and 64 lower-case hexadecimal digits; give the SHA-256 hash of the key, never the key itself',
  },
  {
    file: 'key-with-two-sources',
    server: 'spec: Invalid value: must have exactly one of secretName and hash',
    ours: 'spec: must have exactly one of secretName and hash; give secretName to have a key generated, or hash to bring one',
  },
  {
    file: 'key-with-upper-case-hash',
    server:
      'spec.hash: Invalid value: "sha256:0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF": must be "sha256:" and 64 lower-case hexadecimal digits',
    ours: 'spec.hash: must be "sha256:" and 64 lower-case hexadecimal digits; give the SHA-256 hash of the key, never the key itself',
  },
  {
    file: 'key-without-source',
    server: 'spec: Invalid value: must have exactly one of secretName and hash',
    ours: 'spec: must have exactly one of secretName and hash; give secretName to have a key generated, or hash to bring one',
  },
  {
    file: 'master-rotation-without-secret',
    server: 'spec.rotation: Invalid value: must not be set without secretName',
    ours: 'spec.rotation: must not be set without secretName; remove rotation; to change a key given by hash, create another resource',
  },
  {
    file: 'master-with-models',
    server: 'unknown field "spec.models"',
    ours: 'spec.models: is not a field; remove it; fields here are displayName, enabled, expirationTime, secretName, secretTemplate, hash, hint, rotation',
  },
  {
    file: 'master-with-two-sources',
    server: 'spec: Invalid value: must have exactly one of secretName and hash',
    ours: 'spec: must have exactly one of secretName and hash; give secretName to have a key generated, or hash to bring one',
  },
  {
    file: 'master-without-source',
    server: 'spec: Invalid value: must have exactly one of secretName and hash',
    ours: 'spec: must have exactly one of secretName and hash; give secretName to have a key generated, or hash to bring one',
  },
  {
    file: 'node-alias-reserved',
    server: 'spec.models[0].aliases[0]: Invalid value: "*": must not be "*", which is reserved',
    ours: 'spec.models[0].aliases[0]: "*" must not be "*", which is reserved; write the name of a model; to mean every model, leave the list out',
  },
  {
    file: 'node-alias-twice',
    server: 'spec.models[0].aliases[1]: Duplicate value: "b"',
    ours: 'spec.models[0].aliases[1]: "b" is in the list twice; remove one of the two',
  },
  {
    file: 'node-callers-by-unknown-rule',
    server:
      'spec.callerNamespaces.from: Unsupported value: "Selector": supported values: "Same", "All", "Names"',
    more: true,
    ours: 'spec.callerNamespaces.from: "Selector" must be one of Same, All, Names; use one of them',
  },
  {
    file: 'node-callers-with-bad-name',
    server: 'spec.callerNamespaces.names[0]: Invalid value: "Team": must be the name of a namespace',
    ours: 'spec.callerNamespaces.names[0]: "Team" must be the name of a namespace; use lower-case letters, digits and "-", with a letter or digit at both ends',
  },
  {
    file: 'node-callers-with-empty-names',
    server: 'spec.callerNamespaces.names: Invalid value: must list at least one namespace when from is Names',
    ours: 'spec.callerNamespaces.names: must list at least one namespace when from is Names; add names, or set from to Same',
  },
  {
    file: 'node-callers-with-needless-names',
    server: 'spec.callerNamespaces.names: Invalid value: must be empty unless from is Names',
    ours: 'spec.callerNamespaces.names: must be empty unless from is Names; set from to Names, or remove names',
  },
  {
    file: 'node-callers-without-names',
    server: 'spec.callerNamespaces.names: Invalid value: must list at least one namespace when from is Names',
    ours: 'spec.callerNamespaces.names: must list at least one namespace when from is Names; add names, or set from to Same',
  },
  {
    file: 'node-card-output-beyond-window',
    server: 'spec.models[0].card.outputTokens: Invalid value: must not exceed contextTokens',
    ours: 'spec.models[0].card.outputTokens: 1001 must not exceed contextTokens; the window holds the prompt and the answer: raise contextTokens, or lower outputTokens',
  },
  {
    file: 'node-card-price-no-decimal',
    server: 'spec.models[0].card.price.inputPerMillion: Invalid value: "1,25": must be a decimal number',
    ours: 'spec.models[0].card.price.inputPerMillion: "1,25" must be a decimal number; write it in quotes, such as "2.50", without a currency',
  },
  {
    file: 'node-card-window-zero',
    server:
      'spec.models[0].card.contextTokens: Invalid value: 0: spec.models[0].card.contextTokens in body should be greater than or equal to 1',
    ours: 'spec.models[0].card.contextTokens: 0 must be at least 1; raise it',
  },
  {
    file: 'node-check-of-unknown-mode',
    server: 'spec.healthCheck.mode: Unsupported value: "Chat": supported values: "Models", "None"',
    more: true,
    ours: 'spec.healthCheck.mode: "Chat" must be one of Models, None; use one of them',
  },
  {
    file: 'node-check-timeout-zero',
    server:
      'spec.healthCheck.timeoutSeconds: Invalid value: 0: spec.healthCheck.timeoutSeconds in body should be greater than or equal to 1',
    ours: 'spec.healthCheck.timeoutSeconds: 0 must be at least 1; raise it',
  },
  {
    file: 'node-check-too-often',
    server:
      'spec.healthCheck.intervalSeconds: Invalid value: 9: spec.healthCheck.intervalSeconds in body should be greater than or equal to 10',
    ours: 'spec.healthCheck.intervalSeconds: 9 must be at least 10; raise it',
  },
  {
    file: 'node-credential-in-wrong-place',
    server: 'unknown field "spec.apiKey"',
    ours: 'spec.apiKey: is not a field; did you mean apiKeySecretRef?',
  },
  {
    file: 'node-dialect-unknown-field',
    server: 'unknown field "spec.dialect.maxTokenField"',
    ours: 'spec.dialect.maxTokenField: is not a field; did you mean maxTokensField?',
  },
  {
    file: 'node-display-name-with-line-break',
    server: 'spec.displayName: Invalid value: "a\\nb": must not hold control characters',
    ours: 'spec.displayName: "a\\nb" must not hold control characters; write it on one line, without tabs',
  },
  {
    file: 'node-enabled-as-text',
    server: 'spec.enabled: Invalid value: "string": spec.enabled in body must be of type boolean: "string"',
    more: true,
    ours: 'spec.enabled: must be true or false, not a string; correct it',
  },
  {
    file: 'node-format-chat-completions',
    server:
      'spec.nativeFormats[0]: Unsupported value: "ChatCompletions": supported values: "Responses", "Messages", "Completions"',
    more: true,
    ours: 'spec.nativeFormats[0]: "ChatCompletions" must be one of Responses, Messages, Completions; did you mean Completions?',
  },
  {
    file: 'node-format-twice',
    server: 'spec.nativeFormats[1]: Duplicate value: "Messages"',
    ours: 'spec.nativeFormats[1]: "Messages" is in the list twice; remove one of the two',
  },
  {
    file: 'node-header-accept-encoding',
    server:
      'spec.headers[0].name: Invalid value: "Accept-Encoding": must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own',
    ours: 'spec.headers[0].name: "Accept-Encoding" must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own; remove the entry; a credential goes into apiKeySecretRef or encryptedAPIKey',
  },
  {
    file: 'node-header-api-key',
    server:
      'spec.headers: Invalid value: must not repeat the header that authentication gives the credential',
    ours: 'spec.headers: must not repeat the header that authentication gives the credential; put the credential into apiKeySecretRef or encryptedAPIKey, and remove the entry',
  },
  {
    file: 'node-header-authorization',
    server:
      'spec.headers[0].name: Invalid value: "Authorization": must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own',
    ours: 'spec.headers[0].name: "Authorization" must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own; remove the entry; a credential goes into apiKeySecretRef or encryptedAPIKey',
  },
  {
    file: 'node-header-content',
    server:
      'spec.headers[0].name: Invalid value: "content-length": must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own',
    ours: 'spec.headers[0].name: "content-length" must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own; remove the entry; a credential goes into apiKeySecretRef or encryptedAPIKey',
  },
  {
    file: 'node-header-hop-by-hop',
    server:
      'spec.headers[0].name: Invalid value: "Transfer-Encoding": must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own',
    ours: 'spec.headers[0].name: "Transfer-Encoding" must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own; remove the entry; a credential goes into apiKeySecretRef or encryptedAPIKey',
  },
  {
    file: 'node-header-hops',
    server:
      'spec.headers[0].name: Invalid value: "X-Model-Gateway-Hops": must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own',
    ours: 'spec.headers[0].name: "X-Model-Gateway-Hops" must not be Authorization, Host, Accept-Encoding, Content-*, x-model-gateway-hops or a hop-by-hop header; these are the gateway\'s own; remove the entry; a credential goes into apiKeySecretRef or encryptedAPIKey',
  },
  {
    file: 'node-header-secret-without-key',
    server: 'spec.headers[0].secretRef.key: Required value',
    more: true,
    ours: 'spec.headers[0].secretRef.key: is missing; add it',
  },
  {
    file: 'node-header-twice',
    server: 'spec.headers: Invalid value: must name each header once, whatever its case',
    ours: 'spec.headers: must name each header once, whatever its case; remove one of the two entries',
  },
  {
    file: 'node-header-with-bad-name',
    server: 'spec.headers[0].name: Invalid value: "X A": must be the name of an HTTP header',
    ours: 'spec.headers[0].name: "X A" must be the name of an HTTP header; use letters, digits and "-"',
  },
  {
    file: 'node-header-with-line-break',
    server:
      'spec.headers[0].value: Invalid value: "planted\\r\\nX-B: c": must be visible ASCII without blanks at its ends',
    ours: 'spec.headers[0].value: must be visible ASCII without blanks at its ends; remove line breaks, outer blanks and letters beyond ASCII',
  },
  {
    file: 'node-header-with-two-values',
    server: 'spec.headers[0]: Invalid value: must have exactly one of value and secretRef',
    ours: 'spec.headers[0]: must have exactly one of value and secretRef; keep one of the two',
  },
  {
    file: 'node-header-without-value',
    server: 'spec.headers[0]: Invalid value: must have exactly one of value and secretRef',
    ours: 'spec.headers[0]: must have exactly one of value and secretRef; keep one of the two',
  },
  {
    file: 'node-header-x-api-key',
    server:
      'spec.headers: Invalid value: must not repeat the header that authentication gives the credential',
    ours: 'spec.headers: must not repeat the header that authentication gives the credential; put the credential into apiKeySecretRef or encryptedAPIKey, and remove the entry',
  },
  {
    file: 'node-manual-model-empty',
    server:
      'spec.manualModels[0]: Invalid value: "": spec.manualModels[0] in body should be at least 1 chars long',
    ours: 'spec.manualModels[0]: "" must not be empty; fill it, or leave the field out',
  },
  {
    file: 'node-manual-model-number',
    server:
      'spec.manualModels[0]: Invalid value: "integer": spec.manualModels[0] in body must be of type string: "integer"',
    more: true,
    ours: 'spec.manualModels[0]: must be a string, not a number; put it in quotes',
  },
  {
    file: 'node-manual-model-reserved',
    server: 'spec.manualModels[0]: Invalid value: "*": must not be "*", which is reserved',
    ours: 'spec.manualModels[0]: "*" must not be "*", which is reserved; write the name of a model; to mean every model, leave the list out',
  },
  {
    file: 'node-manual-model-twice',
    server: 'spec.manualModels[1]: Duplicate value: "a"',
    ours: 'spec.manualModels[1]: "a" is in the list twice; remove one of the two',
  },
  {
    file: 'node-manual-model-with-line-break',
    server: 'spec.manualModels[0]: Invalid value: "a\\nb": must not hold control characters',
    ours: 'spec.manualModels[0]: "a\\nb" must not hold control characters; write it on one line, without tabs',
  },
  {
    file: 'node-manual-model-with-outer-blank',
    server: 'spec.manualModels[0]: Invalid value: " a": must not begin or end with a blank',
    ours: 'spec.manualModels[0]: " a" must not begin or end with a blank; remove the blanks, which nobody sees',
  },
  {
    file: 'node-model-dialect',
    server:
      'spec.models[0].dialect.reasoningEfforts[0]: Unsupported value: "extreme": supported values: "none", "minimal", "low", "medium", "high", "xhigh", "max"',
    more: true,
    ours: 'spec.models[0].dialect.reasoningEfforts[0]: "extreme" must be one of none, minimal, low, medium, high, xhigh, max; use one of them',
  },
  {
    file: 'node-model-null',
    server: 'spec.models[0]: Invalid value: "null": spec.models[0] in body must be of type object: "null"',
    more: true,
    ours: 'spec.models[0]: must be an object, not null; correct it',
  },
  {
    file: 'node-model-reserved',
    server: 'spec.models[0].name: Invalid value: "*": must not be "*", which is reserved',
    ours: 'spec.models[0].name: "*" must not be "*", which is reserved; write the name of a model; to mean every model, leave the list out',
  },
  {
    file: 'node-model-twice',
    server: 'spec.models[1]: Duplicate value: {"name":"a"}',
    ours: 'spec.models[1].name: "a" is in the list twice; remove one of the two',
  },
  {
    file: 'node-model-without-name',
    server: 'spec.models[0].name: Required value',
    more: true,
    ours: 'spec.models[0].name: is missing; add it',
  },
  {
    file: 'node-models-as-map',
    server: 'unknown field "spec.models.a"',
    ours: 'spec.models: must be a list, not an object; correct it',
  },
  {
    file: 'node-no-url',
    server: 'spec.baseURL: Required value',
    more: true,
    ours: 'spec.baseURL: is missing; add it',
  },
  {
    file: 'node-plain-text-as-sealed',
    server:
      'spec.encryptedAPIKey: Invalid value: "sk-planted": must be armored age text, as model-gateway seal makes it',
    ours: 'spec.encryptedAPIKey: must be armored age text, as model-gateway seal makes it; seal the key',
  },
  {
    file: 'node-priority-negative',
    server: 'spec.priority: Invalid value: -1: spec.priority in body should be greater than or equal to 0',
    ours: 'spec.priority: -1 must be at least 0; raise it',
  },
  {
    file: 'node-priority-too-high',
    server: 'spec.priority: Invalid value: 101: spec.priority in body should be less than or equal to 100',
    ours: 'spec.priority: 101 must be at most 100; lower it',
  },
  {
    file: 'node-priority-with-fraction',
    server:
      'spec.priority: Invalid value: "float64": spec.priority in body must be of type int32: "float64", <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.priority',
    more: true,
    ours: 'spec.priority: must be a whole number; write it without a fraction',
  },
  {
    file: 'node-secret-ref-of-another-type',
    server:
      'spec.apiKeySecretRef: Invalid value: "string": spec.apiKeySecretRef in body must be of type object: "string"',
    more: true,
    ours: 'spec.apiKeySecretRef: must be an object, not a string; correct it',
  },
  {
    file: 'node-secret-ref-with-bad-key',
    server: 'spec.apiKeySecretRef.key: Invalid value: "a/b": must be the name of an entry of a Secret',
    ours: 'spec.apiKeySecretRef.key: must be the name of an entry of a Secret; use letters, digits, "-", "_" and "."; the credential itself goes into the Secret',
  },
  {
    file: 'node-secret-ref-with-bad-name',
    server: 'spec.apiKeySecretRef.name: Invalid value: "My_Secret": must be a DNS-1123 name',
    ours: 'spec.apiKeySecretRef.name: "My_Secret" must be a DNS-1123 name; use lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
  },
  {
    file: 'node-secret-ref-without-name',
    server: 'spec.apiKeySecretRef.name: Required value',
    more: true,
    ours: 'spec.apiKeySecretRef.name: is missing; add it',
  },
  {
    file: 'node-sync-new-models',
    server:
      'spec.sync.newModels: Invalid value: "boolean": spec.sync.newModels in body must be of type string: "boolean", spec.sync.newModels: Unsupported value: true: supported values: "Enabled", "Disabled"',
    more: true,
    ours: 'spec.sync.newModels: true must be one of Enabled, Disabled; use one of them',
  },
  {
    file: 'node-sync-of-unknown-discovery',
    server: 'spec.sync.discovery: Unsupported value: "Sometimes": supported values: "Always", "Never"',
    more: true,
    ours: 'spec.sync.discovery: "Sometimes" must be one of Always, Never; use one of them',
  },
  {
    file: 'node-sync-pattern-twice',
    server: 'spec.sync.models.exclude[1]: Duplicate value: "*:free"',
    ours: 'spec.sync.models.exclude[1]: "*:free" is in the list twice; remove one of the two',
  },
  {
    file: 'node-sync-pattern-with-outer-blank',
    server: 'spec.sync.models.include[0]: Invalid value: "gpt-* ": must not begin or end with a blank',
    ours: 'spec.sync.models.include[0]: "gpt-* " must not begin or end with a blank; remove the blanks, which nobody sees',
  },
  {
    file: 'node-sync-patterns-as-text',
    server:
      'spec.sync.models.include: Invalid value: "string": spec.sync.models.include in body must be of type array: "string"',
    more: true,
    ours: 'spec.sync.models.include: must be a list, not a string; correct it',
  },
  {
    file: 'node-sync-too-often',
    server:
      'spec.sync.intervalSeconds: Invalid value: 59: spec.sync.intervalSeconds in body should be greater than or equal to 60',
    ours: 'spec.sync.intervalSeconds: 59 must be at least 60; raise it',
  },
  {
    file: 'node-timeout-as-duration',
    server:
      'spec.timeouts.totalSeconds: Invalid value: "string": spec.timeouts.totalSeconds in body must be of type integer: "string"',
    more: true,
    ours: 'spec.timeouts.totalSeconds: must be a number, not a string; correct it',
  },
  {
    file: 'node-timeout-zero',
    server:
      'spec.timeouts.connectSeconds: Invalid value: 0: spec.timeouts.connectSeconds in body should be greater than or equal to 1',
    ours: 'spec.timeouts.connectSeconds: 0 must be at least 1; raise it',
  },
  {
    file: 'node-tls-skip',
    server: 'unknown field "spec.tls.insecureSkipVerify"',
    ours: 'spec.tls.insecureSkipVerify: is not a field; remove it; fields here are caBundle, serverName',
  },
  {
    file: 'node-tls-with-bad-server-name',
    server: 'spec.tls.serverName: Invalid value: "https://a": must be a DNS name',
    ours: 'spec.tls.serverName: "https://a" must be a DNS name; write a host name without port or scheme',
  },
  {
    file: 'node-tls-without-pem',
    server: 'spec.tls.caBundle: Invalid value: "/etc/ssl/ca.pem": must hold PEM certificates',
    ours: 'spec.tls.caBundle: "/etc/ssl/ca.pem" must hold PEM certificates; paste the certificate of the authority, from -----BEGIN CERTIFICATE----- on',
  },
  {
    file: 'node-two-credentials',
    server: 'spec.encryptedAPIKey: Invalid value: must not be set together with apiKeySecretRef',
    ours: 'spec.encryptedAPIKey: must not be set together with apiKeySecretRef; keep one of the two',
  },
  {
    file: 'node-unknown-authentication',
    server:
      'spec.authentication: Unsupported value: "bearer": supported values: "Bearer", "XAPIKey", "APIKey"',
    more: true,
    ours: 'spec.authentication: "bearer" must be one of Bearer, XAPIKey, APIKey; did you mean Bearer?',
  },
  {
    file: 'node-unknown-field-inside-list',
    server: 'unknown field "spec.models[0].alias"',
    ours: 'spec.models[0].alias: is not a field; did you mean aliases?',
  },
  {
    file: 'node-unknown-field',
    server: 'unknown field "spec.prioriti"',
    ours: 'spec.prioriti: is not a field; did you mean priority?',
  },
  {
    file: 'node-unknown-format',
    server:
      'spec.nativeFormats[0]: Unsupported value: "Response": supported values: "Responses", "Messages", "Completions"',
    more: true,
    ours: 'spec.nativeFormats[0]: "Response" must be one of Responses, Messages, Completions; did you mean Responses?',
  },
  {
    file: 'node-url-empty',
    server:
      'spec.baseURL: Invalid value: "": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "" must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-url-of-another-type',
    server: 'spec.baseURL: Invalid value: "integer": spec.baseURL in body must be of type string: "integer"',
    more: true,
    ours: 'spec.baseURL: must be a string, not a number; put it in quotes',
  },
  {
    file: 'node-url-with-another-scheme',
    server:
      'spec.baseURL: Invalid value: "ftp://api.example.com/v1": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "ftp://api.example.com/v1" must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-url-with-backslash',
    server:
      'spec.baseURL: Invalid value: "https://api.example.com\\\\v1": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "https://api.example.com\\\\v1" must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-url-with-blank',
    server:
      'spec.baseURL: Invalid value: "https://api.example.com/v1 ": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "https://api.example.com/v1 " must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-url-with-fragment',
    server:
      'spec.baseURL: Invalid value: "https://api.example.com/v1#planted": must not have a query or fragment',
    ours: 'spec.baseURL: must not have a query or fragment; end it with the version segment, as in https://api.example.com/v1',
  },
  {
    file: 'node-url-with-query',
    server:
      'spec.baseURL: Invalid value: "https://api.example.com/v1?key=planted": must not have a query or fragment',
    ours: 'spec.baseURL: must not have a query or fragment; end it with the version segment, as in https://api.example.com/v1',
  },
  {
    file: 'node-url-with-unicode-host',
    server:
      'spec.baseURL: Invalid value: "https://büro.example/v1": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "https://büro.example/v1" must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-url-with-user-info',
    server: 'spec.baseURL: Invalid value: "https://user:pass@api.example.com/v1": must not hold user info',
    ours: 'spec.baseURL: must not hold user info; move the credential to apiKeySecretRef or encryptedAPIKey',
  },
  {
    file: 'node-url-with-wrong-ipv4',
    server:
      'spec.baseURL: Invalid value: "http://10.0.0.256/v1": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "http://10.0.0.256/v1" must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-url-with-wrong-port',
    server:
      'spec.baseURL: Invalid value: "https://api.example.com:65536/v1": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "https://api.example.com:65536/v1" must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-url-without-scheme',
    server:
      'spec.baseURL: Invalid value: "api.example.com/v1": must be an http or https URL such as https://api.example.com/v1',
    ours: 'spec.baseURL: "api.example.com/v1" must be an http or https URL such as https://api.example.com/v1; write scheme, host and version segment, in ASCII and without blanks',
  },
  {
    file: 'node-weight-zero',
    server: 'spec.weight: Invalid value: 0: spec.weight in body should be greater than or equal to 1',
    ours: 'spec.weight: 0 must be at least 1; raise it',
  },
  {
    file: 'node-with-bad-name',
    server:
      "metadata.name: Invalid value: \"My_Node\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ours: 'metadata.name: "My_Node" must be a DNS-1123 name; use lower-case letters, digits, "-" and ".", with a letter or digit at both ends',
  },
  {
    file: 'node-with-unknown-metadata',
    server: 'unknown field "metadata.lables"',
    ours: 'metadata.lables: is not a field; did you mean labels?',
  },
  {
    file: 'node-without-spec',
    server: 'spec: Required value',
    more: true,
    ours: 'spec: is missing; add it',
  },
];
