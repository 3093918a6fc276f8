import { lauxlib, lua, lualib, to_luastring } from 'fengari';

/**
 * What a health check of Argo CD says of an object: the script as it stands in argocd-cm, run by a Lua interpreter with
 * the object as `obj`. @throws with Lua's message
 */
export function luaHealth(script: string, obj: unknown): { status: string; message: string } {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  const program = `local obj = ${literal(obj)}
local function health()
${script}
end
local hs = health()
return hs.status, hs.message`;
  const failed = lauxlib.luaL_dostring(state, to_luastring(program));
  if (failed) throw new Error(`Lua: ${lua.lua_tojsstring(state, -1)}`);
  return { status: lua.lua_tojsstring(state, -2) ?? '', message: lua.lua_tojsstring(state, -1) ?? '' };
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (typeof value === 'string') return `"${escaped(value)}"`;
  if (Array.isArray(value)) return `{${value.map(literal).join(', ')}}`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, member]) => `["${escaped(name)}"] = ${literal(member)}`)
      .join(', ')}}`;
  return String(value);
}

function escaped(text: string): string {
  return [...Buffer.from(text, 'utf8')].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('');
}
