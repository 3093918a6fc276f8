export interface ResourceAddress {
  /** API group; empty for the core group. */
  group: string;
  version: string;
  /** The resource's name in paths, for example `secrets`. */
  plural: string;
  /** Absent for cluster-scoped resources and for lists over all namespaces. */
  namespace?: string | undefined;
  name?: string | undefined;
  subresource?: string | undefined;
}

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/**
 * The path of a resource, a list of them, or a subresource.
 *
 * @throws RangeError when a part is not a DNS-1123 name: `a/../b` would address another object than was checked
 */
export function resourcePath(address: ResourceAddress): string {
  const { group, version, plural, namespace, name, subresource } = address;
  const parts = group === '' ? ['api'] : ['apis', subdomain('group', group)];
  parts.push(label('version', version));
  if (namespace !== undefined) parts.push('namespaces', label('namespace', namespace));
  parts.push(label('plural', plural));
  if (name !== undefined) parts.push(subdomain('name', name));
  if (subresource !== undefined) parts.push(label('subresource', subresource));
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

function label(field: string, value: string): string {
  if (LABEL.test(value)) return value;
  throw new RangeError(
    `${field} ${JSON.stringify(value)} is not a DNS-1123 label: use up to 63 of a-z, 0-9 and -`,
  );
}

function subdomain(field: string, value: string): string {
  if (value.length <= 253 && SUBDOMAIN.test(value)) return value;
  throw new RangeError(
    `${field} ${JSON.stringify(value)} is not a DNS-1123 subdomain: use up to 253 of a-z, 0-9, - and .`,
  );
}
