/** `HOST:PORT`, `:PORT` for every interface, `[::1]:PORT` for IPv6; undefined for another text. */
export function listenAddress(text: string): { host: string; port: number } | undefined {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535) return undefined;
  return { host: parts[1] ?? (parts[2] || '::'), port };
}
