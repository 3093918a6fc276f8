/**
 * Every reason of our conditions and Events, with its meaning. The list is closed: programs
 * branch on it, so a reason is removed or renamed only with a new API version.
 */
export const reasons = {
  // every kind
  Pending: 'The controller has not looked at the object yet.',
  InvalidSpec: 'The spec breaks a rule that was not checked when it was written.',
  Failed: 'The controller met an error of its own; it tries again.',

  // the credential of a node
  CredentialsResolved: 'The credential and every header from a Secret were found.',
  NoCredentials: 'The node names no credential; requests go out without one.',
  SecretNotFound: 'A Secret that the spec names does not exist.',
  SecretForbidden: 'The API server refuses to show a Secret that the spec names; a Role must grant it.',
  SecretKeyMissing: 'A Secret that the spec names has no such entry, or an empty one.',
  CredentialInvalid:
    'The credential cannot be sent in a header: it is too long or holds other than visible ASCII.',
  SealedKeyUnreadable: 'None of the sealing keys opens the sealed credential, or it is damaged.',
  SealedKeyRefused: 'The sealed credential was sealed for another namespace, name or origin.',
  SealingKeyMissing: 'The Secret with the sealing keys is missing or holds none.',

  // models and health of a node
  ModelsSynced: 'The model list is the one that the node answered with, plus the manual one.',
  ManualModelsApplied: 'The model list is the manual one; the node was not asked or has no listing.',
  ModelAdded: 'A sync found models that were not in the list.',
  ModelRemoved: 'Models that were absent from three syncs in a row left the list.',
  ModelsTruncated: 'The node lists more models than a status can hold; the rest was left out.',
  NoModels: 'The node lists no models or has no listing, and none are set by hand.',
  NotChecked: 'The node was not contacted since it was made or its connection changed.',
  Configured: 'The node is accepted, its credential is not refused, and its models are known.',
  Healthy: 'The last check was good.',
  Recovered: 'A check was good after bad ones.',
  AuthenticationFailed: 'The node answered 401 or 403 to the credential.',
  UpstreamError: 'The node answered with an error status.',
  UpstreamUnreachable: 'The node could not be reached: refused, reset or no such host.',
  UpstreamTimeout: 'The node did not answer in time.',
  TLSFailed: 'The TLS handshake failed: certificate, server name or protocol.',
  AddressForbidden: 'The host of baseURL resolves to an address that is never contacted.',
  InvalidModelList: 'The node answered the model listing with something else, or with too much.',

  // keys
  KeyIssued: 'A key was generated and is in its Secret.',
  KeyAccepted: 'The key with the given hash is in force.',
  KeyRotated: 'A new key was issued because the revision was raised or spec.rotation.every has passed.',
  RotationOverlap: 'A new key was issued; the old one stays valid until its overlap ends.',
  SecretConflict: 'The Secret to write exists and is not owned by this object; it was left alone.',
  SecretAdopted: 'A Secret of an earlier object of this name was taken up again, with its key.',
  SecretReissued: 'The generated Secret was deleted; its key is revoked and another was issued.',
  HashConflict: 'An older object claims the same hash; this one is not in force.',
  Expired: 'The expiration time has passed.',
  ExpiresSoon: 'The expiration time is less than seven days away.',
  Disabled: 'The spec says enabled: false.',
  Revoked: 'The object is being deleted; its key is no longer valid.',
  ModelsResolved: 'Every model of the allowlist is served by a node that the key may use.',
  AllModelsAllowed: 'The key has no allowlist.',
  ModelsNotFound: 'No node that the key may use serves some models of the allowlist.',
} as const;

/** A reason of a condition or an Event. */
export type Reason = keyof typeof reasons;
