/** Changes of a resource (two documents each, in `changes/`) and what the API server says to them; nothing: allowed. */
export const changes: readonly (readonly [file: string, server: readonly string[]])[] = [
  ['everything-else-changed', []],
  ['hash-changed', ['spec.hash: Invalid value: must not change']],
  [
    'hash-replaced-by-secret-name',
    ['spec.secretName: Invalid value: must not change', 'spec.hash: Invalid value: must not change'],
  ],
  [
    'master-revision-lowered',
    ['spec.rotation: Invalid value: must not be removed, nor its revision lowered'],
  ],
  ['master-secret-name-changed', ['spec.secretName: Invalid value: must not change']],
  ['revision-lowered', ['spec.rotation: Invalid value: must not be removed, nor its revision lowered']],
  ['revision-raised', []],
  ['rotation-added', []],
  ['rotation-removed', ['spec.rotation: Invalid value: must not be removed, nor its revision lowered']],
  ['secret-name-changed', ['spec.secretName: Invalid value: must not change']],
  [
    'secret-name-replaced-by-hash',
    ['spec.secretName: Invalid value: must not change', 'spec.hash: Invalid value: must not change'],
  ],
];
