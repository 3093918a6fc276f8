import { z } from 'zod';
import { addIssue } from './add-issue.ts';
import { objectMetaSchema } from './object-meta.ts';

const base64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const dataSchema = z.record(
  z.string(),
  // kubectl and the API server take line breaks inside base64; one joined form is compared and stored.
  z
    .string()
    .transform((value) => value.replaceAll(/[\r\n]/g, ''))
    .check((checked) => {
      if (base64.test(checked.value)) return;
      const params = { remedy: 'encode it, or write it as plain text under stringData' };
      addIssue(checked, { code: 'custom', message: 'must be base64', params });
    }),
);

export const secretSchema = z
  .object({
    apiVersion: z.literal('v1'),
    kind: z.literal('Secret'),
    metadata: objectMetaSchema,
    type: z.string().max(253).optional(),
    immutable: z.boolean().nullish(),
    data: dataSchema.nullish(),
    stringData: z.record(z.string(), z.string()).nullish(),
  })
  .transform(({ immutable: _, data, stringData, ...secret }) => ({
    ...secret,
    data: { ...data, ...encoded(stringData ?? {}) },
  }));

function encoded(texts: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]),
  );
}

/** A core/v1 Secret. `data` holds base64; a manifest's `stringData` is merged into it, as the API server does. */
export type Secret = z.output<typeof secretSchema>;

/**
 * Reads an entry of a Secret as UTF-8 text.
 * @returns the text without surrounding white space (editors and `echo` add line ends, which no header can carry);
 * undefined where the entry is missing or empty.
 */
export function secretValue(secret: Secret, key: string): string | undefined {
  const encodedValue = Object.hasOwn(secret.data, key) ? secret.data[key] : undefined;
  if (encodedValue === undefined) return undefined;
  const value = Buffer.from(encodedValue, 'base64').toString('utf8').trim();
  return value === '' ? undefined : value;
}

/** A Secret with the labels, annotations, owner references and entries of another set in it; all others stay. */
export function appliedSecret(secret: Secret, set: Secret): Secret {
  const { metadata, data } = secret;
  const owners = set.metadata.ownerReferences ?? [];
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) =>
    owners.every((each) => each.uid !== uid),
  );
  return {
    ...secret,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...set.metadata.labels },
      annotations: { ...metadata.annotations, ...set.metadata.annotations },
      ownerReferences: [...others, ...owners],
    },
    data: { ...data, ...set.data },
  };
}
