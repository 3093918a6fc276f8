import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  API,
  type Checker,
  SymbolFlags,
  type Type,
  TypeFlags,
  type Symbol as TypeSymbol,
} from 'typescript/unstable/sync';
import type { Alternative, Shape, TypeGraph } from '../test/support/sdk-types/type-graph.ts';

/** The SDKs by their interface in roots.ts, with the folder of node_modules that says the version. */
const packages: Readonly<Record<string, string>> = {
  Anthropic: '@anthropic-ai/sdk',
  AnthropicPrevious: 'anthropic-previous',
  OpenAI: 'openai',
  OpenAIPrevious: 'openai-previous',
  Vendors: '',
};

/** The types that the official SDKs give to requests, replies and events, as JSON texts by file name; a second of work. */
export function sdkTypeFiles(): ReadonlyMap<string, string> {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const api = new API({ cwd: root });
  try {
    const project = api.updateSnapshot({ openProjects: [`${root}tsconfig.json`] }).getProjects()[0];
    const source = project?.program.getSourceFile(`${root}test/support/sdk-types/roots.ts`);
    const module = source === undefined ? undefined : project?.checker.getSymbolAtLocation(source);
    if (project === undefined || module === undefined) throw new Error('roots.ts is part of no project');
    const files = project.checker.getExportsOfModule(module).map((symbol): [string, string] => {
      const graph = new GraphWriter(project.checker).write(symbol);
      const { name } = symbol;
      return [`${fileName(name)}.json`, textOf({ sdk: versionOf(root, packages[name] ?? ''), ...graph })];
    });
    return new Map(files);
  } finally {
    api.close();
  }
}

function fileName(name: string): string {
  return name
    .replace('OpenAI', 'Openai')
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase();
}

function versionOf(root: string, folder: string): string {
  if (folder === '') return 'vendors';
  const manifest: unknown = JSON.parse(readFileSync(`${root}node_modules/${folder}/package.json`, 'utf8'));
  const { name, version } = manifest as { readonly name: string; readonly version: string };
  return `${name} ${version}`;
}

/** One line for each type: what an SDK's new version brings is then read in the diff. */
function textOf({ sdk, roots, types }: TypeGraph): string {
  const line = ([name, shape]: [string, unknown]) => `    ${JSON.stringify(name)}: ${JSON.stringify(shape)}`;
  const block = (entries: object) => `{\n${Object.entries(entries).map(line).join(',\n')}\n  }`;
  return `{\n  "sdk": ${JSON.stringify(sdk)},\n  "roots": ${block(roots)},\n  "types": ${block(types)}\n}\n`;
}

/** Walks types from the roots; each object type gets a name, by which others refer to it. */
class GraphWriter {
  readonly #checker: Checker;
  readonly #names = new Map<number, string>();
  readonly #taken = new Set<string>();
  readonly #shapes = new Map<string, Shape>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  write(symbol: TypeSymbol): Omit<TypeGraph, 'sdk'> {
    const roots: Record<string, readonly Alternative[]> = {};
    for (const member of this.#checker.getPropertiesOfType(this.#checker.getDeclaredTypeOfSymbol(symbol)))
      roots[member.name] = this.#alternatives(this.#typeOf(member), member.name);
    const types = Object.fromEntries([...this.#shapes].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    return { roots, types };
  }

  #typeOf(member: TypeSymbol): Type {
    const type = this.#checker.getTypeOfSymbol(member);
    if (type === undefined) throw new Error(`${member.name} has no type`);
    return type;
  }

  /** `place` names objects that have no name. */
  #alternatives(type: Type, place: string): readonly Alternative[] {
    const parts = type.isUnionType() ? type.getTypes() : [type];
    const alternatives = parts.flatMap((part) => this.#alternative(part, place));
    const texts = new Set<string>();
    const distinct = alternatives.filter((each) => {
      const text = JSON.stringify(each);
      return texts.size < texts.add(text).size;
    });
    return distinct;
  }

  #alternative(type: Type, place: string): readonly Alternative[] {
    const { flags } = type;
    if (flags & TypeFlags.Undefined) return [];
    if (flags & TypeFlags.Null) return ['null'];
    if (type.isLiteralType()) return [{ literal: type.value as string | number | boolean }];
    if (flags & (TypeFlags.String | TypeFlags.TemplateLiteral)) return ['string'];
    if (flags & TypeFlags.Number) return ['number'];
    if (flags & TypeFlags.Boolean) return ['boolean'];
    if (flags & (TypeFlags.Any | TypeFlags.Unknown | TypeFlags.NonPrimitive)) return ['unknown'];
    if (type.isUnionType()) return this.#alternatives(type, place);
    if (this.#checker.isArrayType(type) || this.#checker.isTupleType(type))
      return [{ list: this.#elements(type, place) }];
    if (type.isIntersectionType()) return this.#intersection(type.getTypes(), type, place);
    return [this.#object(type, place)];
  }

  #elements(type: Type, place: string): readonly Alternative[] {
    if (!type.isTypeReference()) throw new Error('a list without elements');
    return this.#checker.getTypeArguments(type).flatMap((element) => this.#alternatives(element, place));
  }

  /** `string & {}` keeps literals apart in editors; other intersections are objects. */
  #intersection(parts: readonly Type[], whole: Type, place: string): readonly Alternative[] {
    if (parts.some((part) => part.flags & TypeFlags.String)) return ['string'];
    return [this.#object(whole, place)];
  }

  #object(type: Type, place: string): Alternative {
    const properties = this.#checker.getPropertiesOfType(type);
    const index = this.#checker.getIndexInfosOfType(type)[0];
    if (properties.length === 0)
      return index === undefined ? 'unknown' : { record: this.#alternatives(index.valueType, place) };
    const known = this.#names.get(type.id);
    if (known !== undefined) return { type: known };
    const name = this.#nameFor(type, place);
    this.#names.set(type.id, name);
    const members: Record<string, readonly Alternative[]> = {};
    this.#shapes.set(name, members);
    for (const member of properties) {
      const optional = (member.flags & SymbolFlags.Optional) !== 0;
      members[optional ? `${member.name}?` : member.name] = this.#alternatives(
        this.#typeOf(member),
        `${name}.${member.name}`,
      );
    }
    if (index !== undefined) members['[]'] = this.#alternatives(index.valueType, name);
    return { type: name };
  }

  #nameFor(type: Type, place: string): string {
    const symbol = type.getAliasSymbol() ?? type.getSymbol();
    const parent = symbol?.getParent()?.name ?? '';
    const own = symbol === undefined || symbol.name.startsWith('__') ? place : symbol.name;
    const base = parent === '' || parent.includes('/') ? own : `${parent}.${own}`;
    let name = base;
    for (let count = 2; this.#taken.has(name); count++) name = `${base}~${count}`;
    this.#taken.add(name);
    return name;
  }
}
