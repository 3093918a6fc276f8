// Finds where a value that may be anything (`unknown`, `any`, an object) is made a text or a number, or where a text finds a
// member in a plain object: what came by JSON may have a `toString` that is no function, or be called `constructor`. By the
// compiler's types, because a linter without them sees no difference between `String(port)` and `String(answer.code)`.
import { resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import * as ast from 'typescript/unstable/ast';
import { API, type Checker, type Type, TypeFlags } from 'typescript/unstable/sync';

/** Something to be judged by its type. */
interface Question {
  readonly file: ast.SourceFile;
  readonly node: ast.Node;
  /** What is asked of the type of `node`; gives what is wrong, or undefined. */
  readonly judge: (type: Type, checker: Checker) => string | undefined;
}

const primitives =
  TypeFlags.StringLike |
  TypeFlags.NumberLike |
  TypeFlags.BooleanLike |
  TypeFlags.BigIntLike |
  // JSON gives none.
  TypeFlags.ESSymbolLike |
  TypeFlags.Null |
  TypeFlags.Undefined |
  TypeFlags.Void |
  TypeFlags.Never;
const anything = TypeFlags.Any | TypeFlags.Unknown;
const converters: ReadonlySet<string> = new Set(['String', 'Number', 'BigInt', 'parseInt', 'parseFloat']);
/** Methods of lists that make their items texts. */
const joiners: ReadonlySet<string> = new Set(['join', 'sort', 'toSorted']);

const functions: ReadonlySet<ast.SyntaxKind> = new Set([
  ast.SyntaxKind.ArrowFunction,
  ast.SyntaxKind.FunctionDeclaration,
  ast.SyntaxKind.FunctionExpression,
  ast.SyntaxKind.MethodDeclaration,
]);

/**
 * Judges every file of a project that lies in `folder`.
 * @returns `FILE:LINE CODE: what is wrong`, one a place
 */
export function untypedReadings(tsconfig: string, folder: string): string[] {
  const api = new API({ cwd: process.cwd() });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [tsconfig] });
    const project = snapshot.getProject(tsconfig);
    if (project === undefined) throw new Error(`${tsconfig} is no project`);
    const questions: Question[] = [];
    for (const name of project.program.getSourceFileNames()) {
      if (!name.startsWith(`${folder}/`)) continue;
      const file = project.program.getSourceFile(name);
      if (file !== undefined) ask(file, questions);
    }
    // One call for all: a call each would take minutes.
    const types = project.checker.getTypeAtLocation(questions.map(({ node }) => node));
    return questions.flatMap(({ file, node, judge }, index) => {
      const type = types[index];
      const wrong = type === undefined ? 'has no type' : judge(type, project.checker);
      return wrong === undefined ? [] : [`${placeOf(file, node)} ${node.getText(file)}: ${wrong}`];
    });
  } finally {
    api.close();
  }
}

function ask(file: ast.SourceFile, questions: Question[]): void {
  const add = (node: ast.Node, judge: Question['judge']) => questions.push({ file, node, judge });
  const visit = (node: ast.Node): void => {
    if (ast.isCallExpression(node)) askOfCall(node, add);
    else if (ast.isTemplateExpression(node)) {
      if (node.parent.kind !== ast.SyntaxKind.TaggedTemplateExpression) {
        for (const span of node.templateSpans) add(span.expression, mustBePrimitive);
      }
    } else if (ast.isBinaryExpression(node)) {
      const operator = node.operatorToken.kind;
      if (operator === ast.SyntaxKind.PlusToken || operator === ast.SyntaxKind.PlusEqualsToken) {
        add(node.left, mustBePrimitive);
        add(node.right, mustBePrimitive);
      } else if (operator === ast.SyntaxKind.InKeyword) add(node.left, mustBeLiteral);
    } else if (ast.isPrefixUnaryExpression(node)) {
      const isSign =
        node.operator === ast.SyntaxKind.PlusToken || node.operator === ast.SyntaxKind.MinusToken;
      if (isSign) add(node.operand, mustBePrimitive);
    } else if (ast.isElementAccessExpression(node) && !isGuarded(node, file) && !isWritten(node)) {
      const key = node.argumentExpression;
      add(node.expression, (owner, checker) =>
        mustNotBeTable(owner, checker.getTypeAtLocation(key), checker),
      );
    }
    node.forEachChild(visit);
  };
  visit(file);
}

function askOfCall(
  { expression, arguments: given, parent }: ast.CallExpression,
  add: (node: ast.Node, judge: Question['judge']) => void,
): void {
  if (ast.isIdentifier(expression) && converters.has(expression.text)) {
    for (const each of given) add(each, mustBePrimitive);
    return;
  }
  if (!ast.isPropertyAccessExpression(expression)) return;
  const { expression: owner, name } = expression;
  // `list.map(String)`; what is not a list (a schema's `transform(Number)`) has its values checked before.
  if (given.some((each) => ast.isIdentifier(each) && converters.has(each.text)))
    add(owner, mustHoldPrimitives);
  if (joiners.has(name.text) && (name.text === 'join' || given.length === 0)) add(owner, mustHoldPrimitives);
  if (
    name.text === 'parse' &&
    ast.isIdentifier(owner) &&
    owner.text === 'JSON' &&
    ast.isAsExpression(parent)
  ) {
    add(parent, mustBeUnread);
  }
}

function mustBePrimitive(type: Type, checker: Checker): string | undefined {
  if (isPrimitive(type, checker)) return undefined;
  return `is ${checker.typeToString(type)}; read it by its type before it is made a text or a number`;
}

function mustHoldPrimitives(type: Type, checker: Checker): string | undefined {
  if ((type.flags & anything) !== 0 || !checker.isArrayLikeType(type)) return undefined;
  const items = checker.getIndexInfosOfType(type).map(({ valueType }) => valueType);
  if (items.every((item) => isPrimitive(item, checker))) return undefined;
  return `is ${checker.typeToString(type)}; read its items by their type before they are made texts or numbers`;
}

function mustBeLiteral(type: Type): string | undefined {
  const isWord = (type.flags & (TypeFlags.String | anything)) !== 0;
  return isWord ? 'may be the name of a member that every object has; use Object.hasOwn' : undefined;
}

/** Values that nobody knows are read by type afterwards; of all others the type would promise what `constructor` is not. */
function mustNotBeTable(owner: Type, key: Type | undefined, checker: Checker): string | undefined {
  if (key === undefined || (key.flags & (TypeFlags.String | anything)) === 0) return undefined;
  if ((owner.flags & anything) === 0 && checker.isArrayLikeType(owner)) return undefined;
  const values = checker.getIndexInfosOfType(checker.getNonNullableType(owner) ?? owner);
  if (values.length === 0 || values.every(({ valueType }) => (valueType.flags & anything) !== 0))
    return undefined;
  return 'is looked up by any text, also `constructor`; use a Map, or ask Object.hasOwn';
}

/** What `JSON.parse` gives may be taken for an object whose members are unknown, and for nothing closer. */
function mustBeUnread(type: Type, checker: Checker): string | undefined {
  if ((type.flags & anything) !== 0 || isPrimitive(type, checker)) return undefined;
  const members = checker.getPropertiesOfType(type).map((member) => checker.getTypeOfSymbol(member));
  const known = [...members, ...checker.getIndexInfosOfType(type).map(({ valueType }) => valueType)];
  if (known.every((member) => member !== undefined && (member.flags & anything) !== 0)) return undefined;
  return 'promises types that nobody has checked; take it as unknown';
}

function isPrimitive(type: Type, checker: Checker): boolean {
  if ((type.flags & primitives) !== 0) return true;
  if ((type.flags & anything) !== 0) return false;
  if (type.isUnionType()) return type.getTypes().every((each) => isPrimitive(each, checker));
  if (checker.isArrayLikeType(type)) {
    return checker.getIndexInfosOfType(type).every(({ valueType }) => isPrimitive(valueType, checker));
  }
  if (type.isIntersectionType()) return type.getTypes().some((each) => isPrimitive(each, checker));
  const bound = checker.getBaseConstraintOfType(type);
  return bound !== undefined && bound !== type && isPrimitive(bound, checker);
}

/** Whether `Object.hasOwn` is asked of the same object and the same key in the same function. */
function isGuarded(
  { expression, argumentExpression }: ast.ElementAccessExpression,
  file: ast.SourceFile,
): boolean {
  const question = `Object.hasOwn(${expression.getText(file)}, ${argumentExpression.getText(file)})`;
  for (let around: ast.Node = expression; around.parent !== undefined; around = around.parent) {
    if (functions.has(around.kind) && around.getText(file).includes(question)) return true;
  }
  return false;
}

function isWritten(node: ast.ElementAccessExpression): boolean {
  const { parent } = node;
  if (parent.kind === ast.SyntaxKind.DeleteExpression) return true;
  return (
    ast.isBinaryExpression(parent) &&
    parent.left === node &&
    parent.operatorToken.kind === ast.SyntaxKind.EqualsToken
  );
}

function placeOf(file: ast.SourceFile, node: ast.Node): string {
  const line = file.text.slice(0, node.getStart(file)).split('\n').length;
  return `${file.fileName.replace(`${process.cwd()}/`, '')}:${line}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const found = untypedReadings(resolve('tsconfig.build.json'), resolve('src'));
  for (const line of found) process.stdout.write(`${line}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
