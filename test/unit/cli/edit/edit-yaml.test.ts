import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../../../src/cli/edit/apply-edits.ts';
import type { Edit } from '../../../../src/cli/edit/edit.ts';
import { documentValue, editYaml } from '../../../../src/cli/edit/edit-yaml.ts';

const set = (value: unknown, ...path: Edit['path']): Edit => ({ path, value });
const remove = (...path: Edit['path']): Edit => ({ path, remove: true });
const edited = (text: string, edits: readonly Edit[], index = 0) =>
  editYaml(text, index, applyEdits(documentValue(text, index) as Record<string, unknown>, edits));

interface Row {
  readonly what: string;
  readonly before: string;
  readonly edits: readonly Edit[];
  readonly after: string;
}

const rows: readonly Row[] = [
  {
    what: 'a scalar keeps its comment and what is around it',
    before: '# a\nspec:\n  # b\n  enabled:   true\t# c\n\n  weight: 1\n',
    edits: [set(false, 'spec', 'enabled')],
    after: '# a\nspec:\n  # b\n  enabled: false\t# c\n\n  weight: 1\n',
  },
  {
    what: 'JSON keeps its layout, and the comments above and below it',
    before: '# a\n{\n  "kind": "A",\n  "spec": {\n    "a": 1\n  }\n}\n# b\n',
    edits: [set(['x'], 'spec', 'models')],
    after:
      '# a\n{\n  "kind": "A",\n  "spec": {\n    "a": 1,\n    "models": [\n      "x"\n    ]\n  }\n}\n# b\n',
  },
  {
    what: 'a scalar keeps its quotes',
    before: `spec: {a: "x", b: 'y', c: z}\n`,
    edits: [set("it's", 'spec', 'a'), set('p "q"', 'spec', 'b'), set('on', 'spec', 'c')],
    after: `spec: {a: "it's", b: 'p "q"', c: "on"}\n`,
  },
  {
    what: 'text that would read as something else is quoted, for YAML 1.1 too',
    before: 'spec:\n  a: x\n',
    edits: ['yes', '1e3', '12:30', 'null', '#x', '- x', 'a: b', '', ' x', '0x1', '~'].map((text, at) =>
      set(text, 'spec', `k${at}`),
    ),
    after:
      'spec:\n  a: x\n  k0: "yes"\n  k1: "1e3"\n  k2: "12:30"\n  k3: "null"\n  k4: "#x"\n  k5: "- x"\n  k6: "a: b"\n  k7: ""\n  k8: " x"\n  k9: "0x1"\n  k10: "~"\n',
  },
  {
    what: 'a new member goes to the end of its mapping, before comments that follow it',
    before: 'spec:\n    a: 1 # one\n    # the end\n\n# tail\nother: x\n',
    edits: [set(2, 'spec', 'b')],
    after: 'spec:\n    a: 1 # one\n    b: 2\n    # the end\n\n# tail\nother: x\n',
  },
  {
    what: 'missing parents are made in the indentation of the document, dashes as its lists have them',
    before: 'metadata:\n    name: a\nspec:\n    list:\n    - x\n',
    edits: [
      set('Disabled', 'spec', 'sync', 'newModels'),
      set(false, 'spec', 'models', { name: 'm' }, 'enabled'),
    ],
    after:
      'metadata:\n    name: a\nspec:\n    list:\n    - x\n    sync:\n        newModels: Disabled\n    models:\n      - name: m\n        enabled: false\n',
  },
  {
    what: 'a member goes with its own comment; those above it stay',
    before: 'spec:\n  a: 1\n  # above\n  b: 2 # own\n  c:\n    d: 1\n    # in\n    e: 2\n  # below\n  f: 3\n',
    edits: [remove('spec', 'b'), remove('spec', 'c')],
    after: 'spec:\n  a: 1\n  # above\n  # below\n  f: 3\n',
  },
  {
    what: 'a parent that is left empty goes too',
    before: 'spec:\n  a: 1\n  models:\n    - name: m # gone\n      enabled: true\n  z: 1\n',
    edits: [remove('spec', 'models', { name: 'm' }, 'enabled')],
    after: 'spec:\n  a: 1\n  z: 1\n',
  },
  {
    what: 'entries of a block sequence',
    before: "spec:\n  l:\n  - a # 1\n  # b's\n  - 'b'\n\n  - c\n  m: 1\n",
    edits: [set(['a', 'c', 'd', 'e'], 'spec', 'l')],
    after: "spec:\n  l:\n  - a # 1\n  # b's\n\n  - c\n  - d\n  - e\n  m: 1\n",
  },
  {
    what: 'entries in the middle and at the start of a block sequence',
    before: 'spec:\n  l:\n    # first\n    - b\n    - d # last\n',
    edits: [set(['a', 'b', 'c', 'd'], 'spec', 'l')],
    after: 'spec:\n  l:\n    # first\n    - a\n    - b\n    - c\n    - d # last\n',
  },
  {
    what: 'named entries: changed, added, removed, each by itself',
    before:
      'spec:\n  models:\n    - name: a # A\n      enabled: true\n    - enabled: false # B first\n      name: b\n    - { name: c, enabled: true } # C\n    # D\n    - name: d\n',
    edits: [
      set(false, 'spec', 'models', { name: 'a' }, 'enabled'),
      set(true, 'spec', 'models', { name: 'b' }, 'enabled'),
      set(false, 'spec', 'models', { name: 'c' }, 'enabled'),
      set(['x', 'z'], 'spec', 'models', { name: 'c' }, 'aliases'),
      remove('spec', 'models', { name: 'd' }),
      set(true, 'spec', 'models', { name: 'e' }, 'enabled'),
    ],
    after:
      'spec:\n  models:\n    - name: a # A\n      enabled: false\n    - enabled: true # B first\n      name: b\n    - { name: c, enabled: false, aliases: [ x, z ] } # C\n    # D\n    - name: e\n      enabled: true\n',
  },
  {
    what: 'the first member beside a dash',
    before: 'spec:\n  models:\n    - enabled: false # gone\n      aliases: [x]\n      name: b\n',
    edits: [remove('spec', 'models', { name: 'b' }, 'enabled')],
    after: 'spec:\n  models:\n    - aliases: [x]\n      name: b\n',
  },
  {
    what: 'flow sequences',
    before: 'spec: { l: [a, b, c], m: [ x ], n: [], o: ["p"] }\n',
    edits: [
      set(['b', 'd'], 'spec', 'l'),
      set(['x', 'y, z'], 'spec', 'm'),
      set(['1'], 'spec', 'n'),
      set(['p', 'q'], 'spec', 'o'),
    ],
    after: 'spec: { l: [ b, d ], m: [ x, "y, z" ], "n": [ "1" ], o: [ "p", "q" ] }\n',
  },
  {
    what: 'flow collections over several lines',
    before: 'spec:\n  l: [\n    a, # A\n    b, # B\n    c # C\n  ]\n  m: {\n    x: 1,\n    y: 2,\n  }\n',
    edits: [set(['a', 'c', 'd'], 'spec', 'l'), remove('spec', 'm', 'x'), set(3, 'spec', 'm', 'z')],
    after: 'spec:\n  l: [\n    a, # A\n    c, # C\n    d\n  ]\n  m: { "y": 2, z: 3 }\n',
  },
  {
    what: 'the only entry of a flow collection, and all of them',
    before: 'spec: {a: {b: 1}, l: [x], k: 1}\n',
    edits: [set([], 'spec', 'l'), remove('spec', 'a', 'b')],
    after: 'spec: {l: [], k: 1}\n',
  },
  {
    what: 'JSON stays JSON',
    before: '{\n  "kind": "X",\n  "spec": {\n    "l": ["a"],\n    "e": {}\n  }\n}\n',
    edits: [
      set(['a', 'b'], 'spec', 'l'),
      set('yes', 'spec', 'n'),
      remove('spec', 'e'),
      set({ x: [1, null] }, 'spec', 'o'),
    ],
    after:
      '{\n  "kind": "X",\n  "spec": {\n    "l": [\n      "a",\n      "b"\n    ],\n    "n": "yes",\n    "o": {\n      "x": [\n        1,\n        null\n      ]\n    }\n  }\n}\n',
  },
  {
    what: 'block scalars: set, replaced, removed',
    before:
      'spec:\n  key: | # sealed\n    one\n    two\n\n  gone: >-\n    folded\n    text\n  plain: x # c\n  z: 1\n',
    edits: [
      set('three\nfour\n', 'spec', 'key'),
      remove('spec', 'gone'),
      set('p\nq\n', 'spec', 'plain'),
      set('r\ns\n', 'spec', 'new'),
    ],
    after:
      'spec:\n  key: | # sealed\n    three\n    four\n  plain: | # c\n    p\n    q\n  z: 1\n  new: |\n    r\n    s\n',
  },
  {
    what: 'a member below a block scalar, removed from a file that ends in blanks; blank lines above stay',
    before: 'a: 1\n\n\nb: |\n  one\nc: 1\n   ',
    edits: [remove('c')],
    after: 'a: 1\n\n\nb: |\n  one\n',
  },
  {
    what: 'a block scalar that becomes one line, and a long line that stays one',
    before: 'spec:\n  a: |\n    one\n  b: x\n',
    edits: [set('short', 'spec', 'a'), set('word '.repeat(40).trim(), 'spec', 'b')],
    after: `spec:\n  a: short\n  b: ${'word '.repeat(40).trim()}\n`,
  },
  {
    what: 'empty values and nulls get theirs',
    before: 'spec:\n  a:\n  b: ~ # c\n  l: # d\n  # e\n  z: 1\n',
    edits: [set(1, 'spec', 'a'), set('x', 'spec', 'b'), set(['w'], 'spec', 'l')],
    after: 'spec:\n  a: 1\n  b: x # c\n  l: # d\n    - w\n  # e\n  z: 1\n',
  },
  {
    what: 'a scalar becomes a mapping, and a mapping a scalar',
    before: 'spec:\n  a: 1 # A\n  b: # B\n    c: 1\n    d: 2 # D\n  z: 1\n',
    edits: [set({ x: { w: 1 } }, 'spec', 'a'), set('s', 'spec', 'b')],
    after: 'spec:\n  a: # A\n    x:\n      w: 1\n  b: s # B\n  z: 1\n',
  },
  {
    what: 'CRLF',
    before: 'spec:\r\n  a: 1 # c\r\n  l:\r\n    - x\r\n  k: |\r\n    one\r\n',
    edits: [
      set(2, 'spec', 'a'),
      set(['x', 'w'], 'spec', 'l'),
      set('p\nq\n', 'spec', 'k'),
      set({ m: 1 }, 'spec', 'o'),
    ],
    after:
      'spec:\r\n  a: 2 # c\r\n  l:\r\n    - x\r\n    - w\r\n  k: |\r\n    p\r\n    q\r\n  o:\r\n    m: 1\r\n',
  },
  {
    what: 'a byte order mark',
    before: '\uFEFFspec:\n  a: 1\nx: 1\n',
    edits: [set(2, 'spec', 'a'), set(3, 'z')],
    after: '\uFEFFspec:\n  a: 2\nx: 1\nz: 3\n',
  },
  {
    what: 'no line break at the end: added to',
    before: 'spec:\n  a: 1\n  b: 2 # c',
    edits: [set(3, 'spec', 'c')],
    after: 'spec:\n  a: 1\n  b: 2 # c\n  c: 3',
  },
  {
    what: 'no line break at the end: taken from',
    before: 'spec:\n  a: 1\n  b: 2 # c',
    edits: [remove('spec', 'b')],
    after: 'spec:\n  a: 1',
  },
  {
    what: 'a document on the line of its marker',
    before: '--- {spec: {a: 1}} # c\n',
    edits: [set(2, 'spec', 'a'), set(1, 'spec', 'b')],
    after: '--- {spec: {a: 2, b: 1}} # c\n',
  },
  {
    what: 'keys in quotes, and names that need them',
    before: `metadata:\n  annotations:\n    "example.com/a": 'x'\n    b: y\n`,
    edits: [
      set('z', 'metadata', 'annotations', 'example.com/a'),
      set('1', 'metadata', 'annotations', 'modelgateway.dev/x'),
      remove('metadata', 'annotations', 'b'),
    ],
    after: `metadata:\n  annotations:\n    "example.com/a": 'z'\n    modelgateway.dev/x: "1"\n`,
  },
  {
    what: 'entries of a List',
    before:
      'apiVersion: v1\nkind: List\nitems:\n- kind: A\n  metadata: {name: a}\n  spec:\n    a: 1 # one\n- kind: B # b\n  metadata: {name: b}\n  spec: {}\n',
    edits: [
      set(
        [
          { kind: 'A', metadata: { name: 'a' }, spec: { a: 2 } },
          { kind: 'B', metadata: { name: 'b' }, spec: { c: 1 } },
        ],
        'items',
      ),
    ],
    after:
      'apiVersion: v1\nkind: List\nitems:\n- kind: A\n  metadata: {name: a}\n  spec:\n    a: 2 # one\n- kind: B # b\n  metadata: {name: b}\n  spec: {c: 1}\n',
  },
  {
    what: 'an anchor that nothing changes for',
    before: 'a: &x\n  b: 1\nc: *x\nd: 1 # d\n',
    edits: [set(2, 'd')],
    after: 'a: &x\n  b: 1\nc: *x\nd: 2 # d\n',
  },
  {
    what: 'an anchor that changes: what its alias says stays',
    before: 'a: &x {b: 1}\nc: *x\nd: 1 # d\n',
    edits: [set(2, 'a', 'b')],
    after: 'a: &x {b: 2}\nc:\n  b: 1\nd: 1 # d\n',
  },
  {
    what: 'an alias gets a value of its own',
    before: 'a: &x 1\nc: *x # c\n',
    edits: [set(2, 'c')],
    after: 'a: &x 1\nc: 2 # c\n',
  },
  {
    what: 'a tag and an anchor without aliases',
    before: 'a: &x !!str 5 # c\nb: 1\n',
    edits: [set('6', 'a')],
    after: 'a: &x !!str "6" # c\nb: 1\n',
  },
  {
    what: 'keys with a question mark, by the library',
    before: '? a\n: 1\nb: 2 # c\n',
    edits: [remove('a')],
    after: 'b: 2 # c\n',
  },
  {
    what: 'a scalar over several lines',
    before: 'a: one\n  two # c\nb: "x\n  y"\n',
    edits: [set('three', 'a'), set('z', 'b')],
    after: 'a: three\nb: "z"\n',
  },
];

describe('editYaml', () => {
  test.each(rows)('$what', ({ before, edits, after }) => {
    expect(edited(before, edits)).toBe(after);
  });

  test('one document of several, in a file that only the parser can cut', () => {
    const text = '%YAML 1.2\n---\na: 1 # A\n...\n# between\n---\nb: 1 # B\n...\n';
    expect(edited(text, [set(2, 'b')], 1)).toBe(text.replace('b: 1', 'b: 2'));
  });

  test.each([['an anchor that an alias needs', 'a: &x [1]\nc: *x\n', [remove('a')]]])(
    'refuses %s',
    (_, text, edits) => {
      expect(() => edited(text, edits)).toThrow(/anchors and aliases/);
    },
  );
});
