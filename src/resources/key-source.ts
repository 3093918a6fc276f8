import { z } from 'zod';
import { addIssue, type Checked } from './add-issue.ts';
import { conditions, observedGeneration } from './conditions.ts';
import { dateTime, line, patterned, resourceName, text, whole } from './fields.ts';
import { type ChangeRule, type Rule, withRules } from './rules.ts';

const keyHash = () =>
  patterned(
    71,
    /^sha256:[0-9a-f]{64}$/,
    'must be "sha256:" and 64 lower-case hexadecimal digits',
    'give the SHA-256 hash of the key, never the key itself',
  );
const keyHint = () =>
  patterned(64, /^[ -~]+$/, 'must be visible ASCII', 'use letters, digits and punctuation');

const metadataName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const namesValid: Rule<Record<string, string>> = {
  cel: `self.all(k, size(k) <= 317 && k.matches('${metadataName.source.replaceAll('\\/', '/')}'))`,
  message: 'must have names that Kubernetes takes for labels and annotations',
  remedy: 'write names such as team or example.com/team',
  holds: (self) => Object.keys(self).every((name) => name.length <= 317 && metadataName.test(name)),
};

function atMost64(checked: Checked<Record<string, string>>): void {
  if (Object.keys(checked.value).length <= 64) return;
  addIssue(checked, {
    code: 'custom',
    message: 'must have at most 64 entries',
    params: { remedy: 'remove some' },
  });
}

const secretTemplateSchema = z.object({
  labels: withRules(
    z
      .record(
        z.string(),
        patterned(
          63,
          /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/,
          'must be a valid value of a label',
          'use letters, digits, "-", "_" and ".", with a letter or digit at both ends',
        ),
      )
      .check(atMost64)
      .meta({ maxProperties: 64 }),
    [namesValid],
  )
    .meta({ description: 'Labels of the Secret.' })
    .optional(),
  annotations: withRules(z.record(z.string(), text(4_096)).check(atMost64).meta({ maxProperties: 64 }), [
    namesValid,
  ])
    .meta({ description: 'Annotations of the Secret.' })
    .optional(),
});

const rotationSchema = withRules(
  z.object({
    revision: whole(0, 2_147_483_647).default(0).meta({ description: 'Raise it to issue a new key.' }),
    every: whole(1, 3_650)
      .meta({
        description: 'Days after which a new key is issued, again and again; absent means never by itself.',
      })
      .optional(),
    overlapSeconds: whole(0, 2_592_000)
      .default(3_600)
      .meta({ description: 'How long the old key stays valid after a new one was issued.' }),
  }),
  [
    {
      cel: '!has(self.every) || self.overlapSeconds <= self.every * 86400',
      message: 'must not be longer than every',
      remedy: 'lower overlapSeconds, or raise every; a day has 86400 seconds',
      field: 'overlapSeconds',
      holds: ({ every, overlapSeconds }) => every === undefined || overlapSeconds <= every * 86_400,
    },
  ],
);

/** Fields of `spec` that APIKey and MasterKey share. */
export const keySourceFields = {
  displayName: line(253)
    .meta({ description: 'Free-form name for people; absent means the name of the resource.' })
    .optional(),
  enabled: z.boolean().default(true).meta({ description: 'false revokes the key without deleting it.' }),
  expirationTime: dateTime().meta({ description: 'When the key ends; absent means never.' }).optional(),
  secretName: resourceName()
    .meta({
      description:
        'Secret that a key is generated into. Exactly one of secretName and hash; it cannot be changed.',
    })
    .optional(),
  secretTemplate: secretTemplateSchema
    .meta({ description: 'What the generated Secret carries besides the key. With secretName only.' })
    .optional(),
  hash: keyHash()
    .meta({
      description:
        'SHA-256 hash of a key that is kept elsewhere. Exactly one of secretName and hash; it cannot be changed.',
    })
    .optional(),
  hint: keyHint().meta({ description: 'Tells people which key it is. With hash only.' }).optional(),
  rotation: rotationSchema
    .meta({
      description:
        'Issues a new key when its revision is raised, and after every so many days. With secretName only.',
    })
    .optional(),
};

type KeySource = z.output<z.ZodObject<typeof keySourceFields>>;

/** Rules of `spec` that APIKey and MasterKey share. */
export const keySourceRules: readonly Rule<KeySource>[] = [
  {
    cel: 'has(self.secretName) != has(self.hash)',
    message: 'must have exactly one of secretName and hash',
    remedy: 'give secretName to have a key generated, or hash to bring one',
    holds: (self) => (self.secretName === undefined) !== (self.hash === undefined),
  },
  {
    cel: '!has(self.hint) || has(self.hash)',
    message: 'must not be set without hash',
    remedy: 'remove hint; a generated key gets its own',
    field: 'hint',
    holds: (self) => self.hint === undefined || self.hash !== undefined,
  },
  {
    cel: '!has(self.secretTemplate) || has(self.secretName)',
    message: 'must not be set without secretName',
    remedy: 'remove secretTemplate; a key given by hash has no Secret',
    field: 'secretTemplate',
    holds: (self) => self.secretTemplate === undefined || self.secretName !== undefined,
  },
  {
    cel: '!has(self.rotation) || has(self.secretName)',
    message: 'must not be set without secretName',
    remedy: 'remove rotation; to change a key given by hash, create another resource',
    field: 'rotation',
    holds: (self) => self.rotation === undefined || self.secretName !== undefined,
  },
];

/** Rules of changes to `spec` that APIKey and MasterKey share. */
export const keySourceChangeRules: readonly ChangeRule<KeySource>[] = [
  {
    cel: 'has(self.secretName) == has(oldSelf.secretName) && (!has(self.secretName) || self.secretName == oldSelf.secretName)',
    message: 'must not change',
    remedy: 'create another resource with the new name of the Secret',
    field: 'secretName',
    holds: (self, old) => self.secretName === old.secretName,
  },
  {
    cel: 'has(self.hash) == has(oldSelf.hash) && (!has(self.hash) || self.hash == oldSelf.hash)',
    message: 'must not change',
    remedy: 'create another resource with the new hash',
    field: 'hash',
    holds: (self, old) => self.hash === old.hash,
  },
  {
    cel: '!has(oldSelf.rotation) || (has(self.rotation) && self.rotation.revision >= oldSelf.rotation.revision)',
    message: 'must not be removed, nor its revision lowered',
    remedy: 'keep the revision, or raise it to issue a new key',
    field: 'rotation',
    holds: (self, old) =>
      old.rotation === undefined ||
      (self.rotation !== undefined && self.rotation.revision >= old.rotation.revision),
  },
];

const issuedHashSchema = z.object({
  hash: keyHash().meta({ description: 'SHA-256 hash of the key.' }),
  hint: keyHint().meta({ description: 'Tells people which key it is.' }).optional(),
  revision: whole(0, 2_147_483_647)
    .meta({ description: 'The rotation revision it was issued for.' })
    .optional(),
  createdTime: dateTime().meta({ description: 'When it was issued or first seen.' }).optional(),
  expirationTime: dateTime()
    .meta({ description: 'When it ends because of a rotation; absent for the current one.' })
    .optional(),
});

/** `status` of APIKey and MasterKey; `conditionTypes` names the conditions that the kind has. */
export function keyStatus(conditionTypes: string) {
  return z.object({
    observedGeneration: observedGeneration().optional(),
    // Atomic: in a map, a hash written by another field manager would be kept, and its key accepted, until that manager removed it.
    hashes: z
      .array(issuedHashSchema)
      .max(16)
      .meta({
        description:
          'The hashes of the keys that open something while the object is enabled, the newest first.',
        'x-kubernetes-list-type': 'atomic',
      })
      .optional(),
    retiredHashes: z
      .array(keyHash())
      .max(20)
      .meta({
        description:
          'The hashes of the last keys that a rotation replaced or that were revoked, the newest first: they are refused if they come back by the Secret.',
        'x-kubernetes-list-type': 'atomic',
      })
      .optional(),
    nextRotationTime: dateTime()
      .meta({ description: 'When the next key is issued because of rotation.every.' })
      .optional(),
    conditions: conditions(conditionTypes).optional(),
  });
}

/** One key in force, by its hash. */
export type IssuedHash = z.output<typeof issuedHashSchema>;
