/** One of the types that a value may have; objects are referred to by name. */
export type Alternative =
  | 'string'
  | 'number'
  | 'boolean'
  | 'null'
  | 'unknown'
  | { readonly literal: string | number | boolean }
  | { readonly list: readonly Alternative[] }
  | { readonly record: readonly Alternative[] }
  | { readonly type: string };

/** The members of an object type; a name ends with `?` where the member may be absent, and is `[]` for any other name. */
export type Shape = Readonly<Record<string, readonly Alternative[]>>;

/** The types of one SDK in one version, as `npm run generate` reads them. */
export interface TypeGraph {
  /** Package and version. */
  readonly sdk: string;
  readonly roots: Readonly<Record<string, readonly Alternative[]>>;
  readonly types: Readonly<Record<string, Shape>>;
}
