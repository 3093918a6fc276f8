// The labels of fields and choices: people read these, not the names of a manifest.

const fields: Readonly<Record<string, string>> = {
  baseURL: 'Base URL',
  tls: 'TLS',
  caBundle: 'CA bundle',
  caSecretRef: 'CA Secret',
  http2: 'HTTP/2',
  openAIExtras: 'OpenAI extras',
};
/** Labels of fields whose name means something else in another place. */
const places: Readonly<Record<string, string>> = {
  'spec.callerNamespaces.from': 'Keys from',
  'spec.callerNamespaces.names': 'Namespaces',
  'spec.sync.models': 'Models by name',
  'spec.sync.models.include': 'Models to keep',
  'spec.sync.models.exclude': 'Models to leave out',
};
const choices: Readonly<Record<string, string>> = {
  'spec.authentication.Bearer': 'Authorization: Bearer',
  'spec.authentication.XAPIKey': 'x-api-key',
  'spec.authentication.APIKey': 'api-key',
  'spec.callerNamespaces.from.Same': "the node's own namespace",
  'spec.callerNamespaces.from.All': 'all namespaces',
  'spec.callerNamespaces.from.Names': 'its own and those named below',
};
const hints: Readonly<Record<string, string>> = {
  'spec.enabled': 'Switched off, it stays declared and is not used.',
  'spec.authentication': 'The header that carries the API key.',
  'spec.callerNamespaces.from': 'Whose keys may use the node.',
  'spec.callerNamespaces.names': 'Only for “its own and those named below”.',
  'spec.sync.models.exclude':
    'Names of the models to leave out, in the same form, even if “Models to keep” names them.',
};

/** `firstByteSeconds` or `NoModels` as people say it: First byte seconds, No models. */
export function labelOf(name: string): string {
  const known = fields[name];
  if (known !== undefined) return known;
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2');
  return words
    .split(' ')
    .map((word, index) => {
      if (/^[A-Z]{2,}$/.test(word)) return word;
      const lower = word.toLowerCase();
      return index === 0 ? lower.charAt(0).toUpperCase() + lower.slice(1) : lower;
    })
    .join(' ');
}

/** The label of the field at a path, such as `spec.sync.newModels`. */
export function labelAt(path: string): string {
  return places[path] ?? labelOf(path.slice(path.lastIndexOf('.') + 1).replace(/\[\d+\]$/, ''));
}

/** The labels on the way to a field, as of a form that is folded: Sync › New models. */
export function labelsTo(path: string): string {
  const parts = path.split('.');
  return parts
    .slice(1)
    .map((_, index) => labelAt(parts.slice(0, index + 2).join('.')))
    .join(' › ');
}

/** A choice of the field at a path. Values that are sent to a model server as they are have no other label. */
export function choiceLabel(path: string, choice: unknown): string {
  const text = String(choice);
  return choices[`${path}.${text}`] ?? (/^[A-Z][a-z]+[A-Z]/.test(text) ? labelOf(text) : text);
}

/** The hint of the field at a path: the schema's description in the form's words. */
export function hintAt(path: string, description: string | undefined): string {
  const text = (description ?? '').replaceAll(/\babsent or empty\b/gi, 'empty');
  return hints[path] ?? inWords(text.replaceAll(/\babsent (means|or)\b/gi, 'empty $1'));
}

/** A text that names fields as manifests do (`spec.manualModels`, newModels), with the labels of the form instead. */
export function inWords(text: string): string {
  return pathsInWords(text).replaceAll(/[{`“]?\w+/g, (word) =>
    /^[a-z]+(?:[A-Z][a-z]+)+$/.test(word) ? `“${labelOf(word)}”` : word,
  );
}

/** The same for whole paths alone: in a text with names of models, `newModels` may be one. */
export function pathsInWords(text: string): string {
  return text.replaceAll(/(?<![\w{`])(?:spec|sync)(?:\.[A-Za-z0-9]+)+(?::? [A-Z][a-z]+\b)?/g, (found) => {
    const [path = '', value] = found.split(/:? (?=[A-Z])/);
    const label = labelsTo(path.startsWith('spec.') ? path : `spec.${path}`);
    return `“${label}”${value === undefined ? '' : `: ${value}`}`;
  });
}
