import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { applyEdits } from '../cli/edit/apply-edits.ts';
import type { Declarations, Declared, Ref } from '../cli/edit/declarations.ts';
import { read } from './read.ts';
import { rowOf } from './rows.ts';
import type { Detail, Edited, PageKind } from './shapes.ts';
import { planWishes, type Wishes, wishesSchema } from './wishes.ts';

const given = [
  (text: string) => text !== '',
  { message: 'is missing', params: { remedy: 'add it' } },
] as const;
/** As the manifest has it, so that a refusal names the fields of the form. */
const named = z.object({
  kind: z.enum(['UpstreamNode', 'APIKey', 'MasterKey']),
  metadata: z.object({
    namespace: z
      .string()
      .max(63)
      .refine(...given),
    name: z
      .string()
      .max(253)
      .refine(...given),
  }),
});
const editBody = z.strictObject({
  wishes: wishesSchema,
  version: z.string().max(1_024).optional(),
  dryRun: z.boolean().default(false),
  force: z.boolean().default(false),
});
const deleteBody = z.strictObject({ version: z.string().max(1_024).optional() });
const path = '/resources/:kind/:namespace/:name';

/** Reads, declares, changes and deletes one resource through `declarations`, with this person's permissions. */
export function addResourceRoutes(
  app: FastifyInstance,
  options: {
    readonly declarations: Declarations;
    readonly randomBytes: (size: number) => Buffer;
    readonly now: () => number;
    readonly signal: AbortSignal;
  },
): void {
  const { declarations, signal } = options;

  app.get(path, async (request): Promise<Detail> => {
    const declared = await declarations.get(refOf(request), signal);
    const { resource, manifest, source, version } = declared;
    return { row: rowOf(declared), version, resource: shown(resource), manifest, source };
  });
  app.post(path, async (request): Promise<Edited> => {
    const ref = refOf(request);
    const { wishes, version, dryRun, force } = read(editBody, request.body);
    const before = await declarations.get(ref, signal);
    const { resource } = before;
    const target = {
      baseURL: addressOf(wishes, resource.spec),
      node: resource.kind === 'UpstreamNode' ? resource : undefined,
    };
    const { edits } = await planWishes(wishes, ref, target, options);
    const asked = { dryRun, force, ...(version === undefined ? {} : { version }) };
    const after = await declarations.edit(ref, edits, asked, signal);
    return { before: before.manifest, ...outcome(after) };
  });
  app.put(path, async (request): Promise<Edited & { value?: string }> => {
    const ref = refOf(request);
    const { wishes, dryRun } = read(editBody, request.body);
    const target = { baseURL: addressOf(wishes, {}), node: undefined };
    const { edits, value } = await planWishes(wishes, ref, target, options);
    const { kind, namespace, name } = ref;
    const manifest = { kind, metadata: { name, namespace }, spec: {} };
    const whole = applyEdits(manifest, edits);
    const made = await declarations.create(whole as typeof manifest, { dryRun }, signal);
    // A key of a dry run is not declared, so it is not valid.
    return { before: '', ...outcome(made), ...(value === undefined || dryRun ? {} : { value }) };
  });
  app.delete(path, async (request): Promise<object> => {
    const { version } = read(deleteBody, request.body ?? {});
    await declarations.remove(refOf(request), version === undefined ? {} : { version }, signal);
    return {};
  });
}

function refOf(request: FastifyRequest): Ref<PageKind> {
  const { kind, ...metadata } = request.params as Readonly<Record<string, string>>;
  const checked = read(named, { kind, metadata });
  return { kind: checked.kind, ...checked.metadata };
}

/** The address that the node will have. */
function addressOf(wishes: Wishes, spec: object): string | undefined {
  const edit = wishes.edits.findLast(({ path: [, field] }) => field === 'baseURL');
  if (edit !== undefined && 'value' in edit && typeof edit.value === 'string') return edit.value;
  return 'baseURL' in spec && typeof spec.baseURL === 'string' ? spec.baseURL : undefined;
}

function outcome(after: Declared<PageKind>): Omit<Edited, 'before'> {
  const { manifest, version, resource } = after;
  return { after: manifest, row: rowOf(after), version, spec: shown(resource).spec };
}

/** Without the sealed credential, which is long and not shown. */
function shown(resource: { readonly spec: object }): { readonly spec: object } {
  return 'encryptedAPIKey' in resource.spec
    ? { ...resource, spec: { ...resource.spec, encryptedAPIKey: 'sealed' } }
    : resource;
}
