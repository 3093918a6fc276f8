/**
 * Every reason of our conditions and Events, with its meaning and what a person does about it. The list is closed: programs
 * branch on it, so a reason is removed or renamed only with a new API version. The tables of the reference and the runbook are
 * generated from it.
 */
export const reasons = {
  // every kind
  Pending: {
    meaning: 'The controller has not looked at the object yet.',
    remedy: 'Wait; if it stays, see *ModelGatewayControllerDown*.',
  },
  InvalidSpec: {
    meaning: 'The spec breaks a rule that was not checked when it was written.',
    remedy:
      'The message names the fields and says what they must be; the usual cause is a CRD of another version, which stored what this release does not accept.',
  },
  Failed: {
    meaning: 'The controller could not do its work on the object; it tries again.',
    remedy:
      "The message and the controller's log have the cause, such as a permission on Secrets that the Role does not grant.",
  },

  // the credential of a node
  CredentialsResolved: {
    meaning: 'The credential and every header from a Secret were found.',
    remedy: 'Nothing.',
  },
  NoCredentials: {
    meaning: 'The node names no credential; requests go out without one.',
    remedy: 'Nothing, if the node needs none; else set `spec.apiKeySecretRef` or `spec.encryptedAPIKey`.',
  },
  SecretNotFound: {
    meaning: 'A Secret that the spec names does not exist.',
    remedy: "Create it in the node's namespace.",
  },
  SecretForbidden: {
    meaning: 'The API server refuses to show a Secret that the spec names; a Role must grant it.',
    remedy: 'Grant `get` on it to both roles (chart: the values on Secrets), or use a sealed key.',
  },
  SecretKeyMissing: {
    meaning: 'A Secret that the spec names has no such entry, or an empty one.',
    remedy: 'Add the entry, or name another in `key`.',
  },
  CredentialInvalid: {
    meaning: 'The credential cannot be sent in a header: it is too long or holds other than visible ASCII.',
    remedy: 'Look for a line break or a space in it.',
  },
  SealedKeyUnreadable: {
    meaning: 'None of the sealing keys opens the sealed credential, or it is damaged.',
    remedy: 'Seal it again, or restore the Secret `model-gateway-sealing` from its backup.',
  },
  SealedKeyRefused: {
    meaning: 'The sealed credential was sealed for another namespace, name or origin.',
    remedy: 'Seal it for this node and this `baseURL`.',
  },
  SealingKeyMissing: {
    meaning: 'The Secret with the sealing keys is missing or holds none.',
    remedy:
      'Restore it from its backup: a new pair, which the controller makes, does not open what the old one sealed.',
  },

  // models and health of a node
  ModelsSynced: {
    meaning: 'The model list is the one that the node answered with, plus the manual one.',
    remedy: 'Nothing.',
  },
  ManualModelsApplied: {
    meaning: 'The model list is the manual one; the node was not asked or has no listing.',
    remedy: 'Nothing.',
  },
  ModelAdded: { meaning: 'A sync found models that were not in the list.', remedy: 'Nothing.' },
  ModelRemoved: {
    meaning: 'Models that were absent from three syncs in a row left the list.',
    remedy: 'Their callers get 404: inform them, or add them to `spec.manualModels`.',
  },
  ModelsTruncated: {
    meaning: 'The node lists more models than a status can hold; the rest was left out.',
    remedy: 'List the models that you need in `spec.manualModels` with `sync.discovery: Never`.',
  },
  NoModels: {
    meaning: 'The node lists no models or has no listing, and none are set by hand.',
    remedy:
      'If the message asks whether `/v1` is missing, set the `spec.baseURL` that it names; else set `spec.manualModels`.',
  },
  NotChecked: {
    meaning: 'The node was not contacted since it was made or its connection changed.',
    remedy: 'Wait for the first check, or ask for a sync.',
  },
  Configured: {
    meaning: 'The node is accepted, its credential is not refused, and its models are known.',
    remedy: 'Nothing.',
  },
  Healthy: { meaning: 'The last check was good.', remedy: 'Nothing.' },
  Recovered: { meaning: 'A check was good after bad ones.', remedy: 'Nothing.' },
  AuthenticationFailed: {
    meaning: 'The node answered 401 or 403 to the credential.',
    remedy: 'Put a good key into its Secret, or seal one; the node is synced at once.',
  },
  UpstreamError: {
    meaning: 'The node answered with an error status.',
    remedy: "The message has the status; check the model server's log.",
  },
  UpstreamUnreachable: {
    meaning: 'The node could not be reached: refused, reset or no such host.',
    remedy: 'Check `baseURL`, DNS, egress NetworkPolicy and firewall.',
  },
  UpstreamTimeout: {
    meaning: 'The node did not answer in time.',
    remedy: 'Check whether the server is overloaded; `spec.healthCheck.timeoutSeconds`, `spec.timeouts`.',
  },
  TLSFailed: {
    meaning: 'The TLS handshake failed: certificate, server name or protocol.',
    remedy: 'Set `spec.tls.caBundle` for a private authority, `spec.tls.serverName` for another name.',
  },
  AddressForbidden: {
    meaning: 'The host of baseURL resolves to an address that is never contacted.',
    remedy: 'Use another address; loopback needs `--allow-loopback-upstreams`.',
  },
  InvalidModelList: {
    meaning: 'The node answered the model listing with something else, or with too much.',
    remedy: 'Set `spec.manualModels` with `sync.discovery: Never`.',
  },

  // keys
  KeyIssued: { meaning: 'A key was generated and is in its Secret.', remedy: 'Nothing.' },
  KeyAccepted: { meaning: 'The key with the given hash is in force.', remedy: 'Nothing.' },
  KeyRotated: {
    meaning: 'A new key was issued because the revision was raised or spec.rotation.every has passed.',
    remedy: 'Nothing.',
  },
  RotationOverlap: {
    meaning: 'A new key was issued; the old one stays valid until its overlap ends.',
    remedy: 'Give the new key to the callers before that.',
  },
  SecretConflict: {
    meaning: 'The Secret to write exists and is not owned by this object; it was left alone.',
    remedy:
      'Delete that Secret; `spec.secretName` cannot be changed, so for another name create another key. After a restore: [take it up again](../../docs/restore.md#restore).',
  },
  SecretAdopted: {
    meaning: 'A Secret of an earlier object of this name was taken up again, with its key.',
    remedy: 'Nothing.',
  },
  SecretReissued: {
    meaning: 'The generated Secret was deleted; its key is revoked and another was issued.',
    remedy: 'Give the new key to the callers.',
  },
  FormerKeyRefused: {
    meaning:
      'The Secret held a key that a rotation replaced or that was revoked; another was issued into it.',
    remedy:
      'Find what wrote the old copy into the Secret (a GitOps tool, `kubectl apply`, a restore) and stop it; give the new key to the callers. `managedFields` of the Secret name the writer.',
  },
  HashConflict: {
    meaning: 'An older object claims the same hash; this one is not in force.',
    remedy: 'Delete one of the two; the message names the older if it is in the same namespace.',
  },
  Expired: { meaning: 'The expiration time has passed.', remedy: 'Set a later one, or delete the object.' },
  ExpiresSoon: {
    meaning: 'The expiration time is less than seven days away.',
    remedy: 'Set a later one, or give the callers another key.',
  },
  Disabled: { meaning: 'The spec says enabled: false.', remedy: 'Nothing, if that is meant.' },
  Revoked: {
    meaning: 'The object is being deleted; its key is no longer valid.',
    remedy: 'If it remains, check its finalizers.',
  },
  Applied: {
    meaning: 'Every gateway that serves the namespace has applied the last change of the key.',
    remedy: 'Nothing.',
  },
  Applying: {
    meaning: 'Some gateways have not applied the last change of the key yet; the message names them.',
    remedy:
      'If it stays, read the log of the gateway that is named: its watch on the API server may have failed.',
  },
  GatewaySilent: {
    meaning:
      'A gateway that has not applied the last change of the key has not reported for 45 seconds: it may still accept what was revoked.',
    remedy:
      'See [Is a revoked key dead?](../../docs/revocation.md#a-gateway-that-does-not-report); delete the pod that is named if its key must be dead now.',
  },
  ModelsResolved: {
    meaning: 'Every model of the allowlist is served by a node that the key may use.',
    remedy: 'Nothing.',
  },
  AllModelsAllowed: { meaning: 'The key has no allowlist.', remedy: 'Nothing.' },
  ModelsNotFound: {
    meaning: 'No node that the key may use serves some models of the allowlist.',
    remedy: "Check the spelling, the node's `callerNamespaces` and the key's `nodeNamespaces`.",
  },
} as const satisfies Record<string, { readonly meaning: string; readonly remedy: string }>;

/** A reason of a condition or an Event. */
export type Reason = keyof typeof reasons;
