import { type Command, InvalidArgumentError, Option } from 'commander';

type Labels = Readonly<Record<string, string>>;

/** Whether an object with these labels is selected. */
export type Selector = (labels: Labels | undefined) => boolean;

export interface SelectorFlags {
  readonly selector?: Selector;
}

/** The flag of `SelectorFlags`, with what `help flags` says of it. */
export const selectorFlag = ['-l, --selector LABELS', "kubectl's: nodes and keys with these labels"] as const;

/** Lets a command that lists resources take kubectl's `-l`. */
export function withSelector(command: Command): Command {
  const [flags, help] = selectorFlag;
  const option = new Option(flags.replace('LABELS', '<labels>'), help).argParser(labelSelector);
  return command.addOption(option.hideHelp());
}

/** The items that the flag selects; all without it. */
export function selected<
  T extends { readonly resource: { readonly metadata: { readonly labels?: Labels | undefined } } },
>(items: readonly T[], { selector }: SelectorFlags): readonly T[] {
  return selector === undefined ? items : items.filter(({ resource }) => selector(resource.metadata.labels));
}

const name = '[A-Za-z0-9](?:[-\\w.]{0,61}[A-Za-z0-9])?';
const key = `(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${name}`;
const equal = new RegExp(`^(${key}) *(==?|!=) *(${name})?$`);
const oneOf = new RegExp(`^(${key}) +(in|notin) *\\(([^()]*)\\)$`);
const exists = new RegExp(`^(!?) *(${key})$`);
const value = new RegExp(`^(?:${name})?$`);

/**
 * Reads a label selector as kubectl takes it: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. All of its parts must match.
 * @throws InvalidArgumentError for anything else
 */
export function labelSelector(text: string): Selector {
  const parts = text.split(/,(?![^(]*\))/).map((part) => requirement(part.trim()));
  return (labels = {}) => parts.every((holds) => holds(labels));
}

function requirement(text: string): (labels: Labels) => boolean {
  const [, label = '', sign, wanted = ''] = equal.exec(text) ?? [];
  if (sign !== undefined) return (labels) => (labelOf(labels, label) === wanted) === (sign !== '!=');
  const [, of = '', operator, list = ''] = oneOf.exec(text) ?? [];
  const values = list.split(',').map((each) => each.trim());
  if (operator !== undefined && values.every((each) => value.test(each))) {
    return (labels) => values.some((each) => each === labelOf(labels, of)) === (operator === 'in');
  }
  const [, not, own = ''] = exists.exec(text) ?? [];
  if (not !== undefined) return (labels) => Object.hasOwn(labels, own) === (not === '');
  throw new InvalidArgumentError('Give labels as kubectl takes them: team=a,tier!=b,stage in (x,y),!old.');
}

/** Own labels only, because a label may be called `constructor`. */
function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}
