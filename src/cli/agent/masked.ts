/** Values of members that are named after credentials, as JSON, YAML and TOML write them. */
const credential =
  /((?:key|token|secret|password|authorization)[\w-]*["']?\s*[:=]\s*)(["']?)(?:Bearer )?[\w.~+/=-]{12,}\2/gi;

/** A text without the credentials of the user that a file may hold. */
export function masked(text: string): string {
  return text.replace(credential, '$1***').replace(/\b(?:mg[km]_|sk-)[\w-]{8,}/g, '***');
}
