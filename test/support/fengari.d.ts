/** The few functions of the Lua interpreter that tests use; it brings no types. */
declare module 'fengari' {
  type State = { readonly lua: unique symbol };
  type Text = { readonly bytes: unique symbol };
  export function to_luastring(text: string): Text;
  export const lauxlib: {
    luaL_newstate(): State;
    luaL_dostring(state: State, text: Text): boolean | number;
  };
  export const lualib: { luaL_openlibs(state: State): void };
  export const lua: { lua_tojsstring(state: State, index: number): string | null };
}
