/** The level of a finding: `error` does not work, `warning` is probably a mistake, `note` cannot be decided from files. */
export type Level = 'error' | 'warning' | 'note';

interface RuleText {
  readonly level: Level;
  /** What the rule looks for, in a sentence. */
  readonly summary: string;
  /** Why it matters and what to do; code scanning shows it with the finding. */
  readonly help: string;
}

/** Every rule of `check`. CI settings contain the names, so a name never gets another meaning. */
export const rules = {
  'unreadable-file': {
    level: 'error',
    summary: 'A manifest file cannot be read.',
    help: 'Files are read as UTF-8. A file that cannot be read cannot be applied either.',
  },
  yaml: {
    level: 'error',
    summary: 'A file is not YAML.',
    help: 'Nothing of the file applies. The message says what the parser did not accept, without quoting it.',
  },
  schema: {
    level: 'error',
    summary: 'A field is unknown or missing, or its value is not allowed.',
    help: 'These are the rules that the API server applies: the schemas of the CRDs and the CEL rules in them.',
  },
  'duplicate-name': {
    level: 'error',
    summary: 'Two documents declare one object.',
    help: 'The later one overwrites the earlier one in a cluster; in standalone mode the first one is in force.',
  },
  'hash-conflict': {
    level: 'error',
    summary: 'Two keys claim one hash.',
    help: 'A hash belongs to the oldest object that claims it; the others are not in force (HashConflict).',
  },
  'sealed-key': {
    level: 'error',
    summary: 'A sealed credential is damaged.',
    help: 'spec.encryptedAPIKey must be the whole armored text that `model-gateway seal` prints.',
  },
  'secret-entry-missing': {
    level: 'error',
    summary: 'A Secret of the folder lacks the entry that a node names.',
    help: 'Requests go to a node only when every credential it names resolves.',
  },
  'key-text': {
    level: 'error',
    summary: 'A file contains a text that looks like a key.',
    help: 'Everybody who can read the repository, now or later, can use it. Revoke the key, and put the new one into a Secret outside of Git or seal it with `model-gateway seal`.',
  },
  'secret-in-clear': {
    level: 'warning',
    summary: 'A Secret contains its data in clear text.',
    help: 'base64 is not encryption. Seal a credential with `model-gateway seal`, or encrypt the Secret with SOPS or Sealed Secrets, or create it with an external operator.',
  },
  'alias-conflict': {
    level: 'warning',
    summary: 'An alias is shadowed by a model of that name on the same node.',
    help: 'Within a node a real name takes precedence over an alias, even if that model is disabled. Models that share an alias all serve it.',
  },
  'model-unserved': {
    level: 'warning',
    summary: 'A model that a manifest names is served by no node.',
    help: 'An entry in spec.models alone serves nothing: the model must be discovered or in spec.manualModels.',
  },
  'allowlist-unknown-model': {
    level: 'warning',
    summary: 'An allowlist names a model that no node serves to this key.',
    help: 'Every node that the key may use has a manual list and is never asked for its models, so this is certain.',
  },
  'allowlist-unjudged': {
    level: 'note',
    summary: 'Files do not show whether the models of an allowlist exist.',
    help: 'Models are discovered while the gateway runs. Look at the condition ModelsResolved of the key there.',
  },
  'key-without-nodes': {
    level: 'warning',
    summary: 'No node of the folder serves the namespace of a key.',
    help: "A node serves its own namespace. It serves another one if its callerNamespaces admits that, and if the node is in the home namespace or in one that the key's nodeNamespaces names.",
  },
  'caller-namespace-unused': {
    level: 'warning',
    summary: 'A node admits a namespace that nothing in the folder uses.',
    help: 'A mistyped name admits no key.',
  },
  'node-namespace-unused': {
    level: 'warning',
    summary: 'A key accepts nodes of a namespace in which no node admits it.',
    help: "Both sides must agree: the key's nodeNamespaces and the node's callerNamespaces.",
  },
  'secret-not-in-folder': {
    level: 'note',
    summary: 'A Secret that a node names is not in the folder.',
    help: 'This is right if Secrets are not kept in Git; the Secret must exist in the cluster.',
  },
  'key-expired': {
    level: 'warning',
    summary: 'A key has expired already.',
    help: 'An expired key opens nothing.',
  },
  'class-unserved': {
    level: 'warning',
    summary: 'An object has a class that no installation has.',
    help: 'An installation serves the objects whose label modelgateway.dev/class is its --class. Give check the classes of your installations by --class NAME, repeatedly.',
  },
  'class-unjudged': {
    level: 'note',
    summary: 'An object has a class, and no --class was given.',
    help: 'Files do not show which classes the installations of the cluster have. Name them by --class NAME. Standalone mode serves every object.',
  },
  'server-field': {
    level: 'warning',
    summary: 'A document carries fields that the API server writes.',
    help: 'It was copied from a cluster. uid and resourceVersion make an apply fail once they are outdated, and status is ignored.',
  },
  'not-judged': {
    level: 'note',
    summary: 'A file was not checked.',
    help: 'Helm templates and Kustomize folders are not rendered: pipe the result in, as in `kustomize build . | model-gateway check -`.',
  },
} as const satisfies Record<string, RuleText>;

export type RuleId = keyof typeof rules;
