/** Ways to write the target of one request that some program in between, or a router, may read as the same. */
export const spellings: Readonly<Record<string, (path: string, authority: string) => string>> = {
  plain: (path) => path,
  'one letter encoded': (path) => path.replace(/[a-z]/, encoded),
  'another letter encoded': (path) => path.replace(/[a-z](?=[^a-z]*$)/, encoded),
  'every letter encoded': (path) => path.replaceAll(/[a-z]/gi, encoded),
  'encoded twice': (path) => path.replace(/[a-z]/, (letter) => encoded(letter).replace('%', '%25')),
  'slash encoded': (path) => path.replace(/(?<=.)\//, '%2F'),
  'first slash encoded': (path) => path.replace('/', '/%2f'),
  'two slashes': (path) => `/${path}`,
  'two slashes within': (path) => path.replace(/(?<=.)\//, '//'),
  'a dot segment': (path) => `/.${path}`,
  'a dot segment within': (path) => path.replace(/(?<=.)\//, '/./'),
  'back from elsewhere': (path) => `/page/..${path}`,
  'back from elsewhere, encoded': (path) => `/page/%2e%2e${path}`,
  'back from elsewhere, slash encoded': (path) => `/page/..%2f${path.slice(1)}`,
  'absolute form': (path, authority) => `http://${authority}${path}`,
  'absolute form, TLS': (path, authority) => `https://${authority}${path}`,
  'absolute form, encoded': (path, authority) => `http://${authority}${path.replace(/[a-z]/, encoded)}`,
  'absolute form of another host': (path) => `http://elsewhere.example${path}`,
  'absolute form with a user': (path, authority) => `http://user:word@${authority}${path}`,
  'authority form': (_path, authority) => authority,
  asterisk: () => '*',
  'upper case': (path) => path.toUpperCase(),
  'a slash behind': (path) => `${path}/`,
  'a parameter behind': (path) => `${path};x=1`,
  'a parameter within': (path) => path.replace(/(?<=.)\//, ';x=1/'),
  'a zero byte behind': (path) => `${path}%00`,
  'a line end behind': (path) => `${path}%0d%0a`,
  'a fragment': (path) => `${path}#x`,
  'a fragment before': (path) => `/#${path}`,
  backslash: (path) => path.replaceAll('/', '\\'),
  'a backslash within': (path) => path.replace(/(?<=.)\//, '\\'),
  'overlong slash': (path) => path.replace(/(?<=.)\//, '%c0%af'),
  'overlong letter': (path) =>
    path.replace(/[a-z]/, (letter) => `%c1%${(letter.charCodeAt(0) + 0x40).toString(16)}`),
  'broken encoding': (path) => `${path}%zz`,
  'a query': (path) => `${path}?x=/page/style.css`,
  'a file before the query': (path) => `/page/style.css?x=${path}`,
};

function encoded(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`;
}
