// The part of htm/preact/standalone that the page uses: markup as template strings, and hooks.

/** What a component returns and `html` makes. */
export interface View {
  readonly type: unknown;
}
export type Child = View | string | number | boolean | null | undefined | readonly Child[];

export function html(strings: TemplateStringsArray, ...values: unknown[]): View;
export function render(view: View, parent: Element): void;
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((previous: T) => T)) => void];
export function useEffect(effect: () => undefined | (() => void), inputs: readonly unknown[]): void;
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
export function useRef<T>(initial: T): { current: T };
