import { createScanner, SyntaxKind } from 'typescript/unstable/ast';

/** After these a slash divides; after anything else it begins a regular expression. */
const endsAValue: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.Identifier,
  SyntaxKind.PrivateIdentifier,
  SyntaxKind.NumericLiteral,
  SyntaxKind.BigIntLiteral,
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.CloseParenToken,
  SyntaxKind.CloseBracketToken,
  SyntaxKind.CloseBraceToken,
  SyntaxKind.ThisKeyword,
]);

export interface RegexLiteral {
  readonly text: string;
  readonly regex: RegExp;
}

/** Every regular expression literal of a TypeScript text, by the compiler's own scanner. */
export function regexLiterals(source: string): RegexLiteral[] {
  const scanner = createScanner(true, undefined, source);
  const found: RegexLiteral[] = [];
  /** For each open brace, whether it belongs to a template. */
  const braces: boolean[] = [];
  let before: SyntaxKind = SyntaxKind.Unknown;
  for (let kind = scanner.scan(); kind !== SyntaxKind.EndOfFile; kind = scanner.scan()) {
    const mayDivide = endsAValue.has(before);
    if ((kind === SyntaxKind.SlashToken || kind === SyntaxKind.SlashEqualsToken) && !mayDivide) {
      kind = scanner.reScanSlashToken();
      const text = scanner.getTokenText();
      const end = text.lastIndexOf('/');
      found.push({ text, regex: new RegExp(text.slice(1, end), text.slice(end + 1)) });
    } else if (kind === SyntaxKind.TemplateHead) braces.push(true);
    else if (kind === SyntaxKind.OpenBraceToken) braces.push(false);
    else if (kind === SyntaxKind.CloseBraceToken && braces.pop() === true) {
      kind = scanner.reScanTemplateToken(false);
      if (kind === SyntaxKind.TemplateMiddle) braces.push(true);
    }
    before = kind;
  }
  return found;
}
