/** Values of members that are named after credentials, as JSON, YAML and TOML write them. */
const credential =
  /((?:key|token|secret|password|authorization)[\w-]{0,64}["']?\s{0,16}[:=]\s{0,16})["']?(?:Bearer )?([\w.~+/=-]{4,})["']?/gi;

/** Values that are no credential: numbers, switches, and what this command and Cline write. */
const plain = /^(?:\d+|true|false|null|printenv|manual)$/;

/** A text without the credentials of the user that a file may hold. */
export function masked(text: string): string {
  return text
    .replace(credential, (all: string, name: string, value: string) =>
      plain.test(value) ? all : `${name}***`,
    )
    .replace(/\b(?:mg[km]_|sk-)[\w-]{8,}/g, '***');
}
