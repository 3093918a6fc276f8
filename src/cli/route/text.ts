import type { ExplainedNode, Explanation } from '../../routing/explain/explain.ts';
import { ago } from '../ago.ts';
import type { Column } from '../output.ts';

/** The columns of `route explain`. */
export const explainColumns: readonly Column<ExplainedNode>[] = [
  { title: 'TURN', cell: ({ tier }) => (tier === undefined ? '-' : String(tier)) },
  { title: 'NODE', cell: ({ node }) => node },
  { title: 'SHARE', cell: ({ share }) => (share === undefined ? '-' : percent(share)) },
  { title: 'PRIORITY', cell: ({ priority }) => String(priority) },
  { title: 'WEIGHT', cell: ({ weight }) => String(weight) },
  {
    title: 'STATUS',
    cell: ({ phase }) => phase,
    tint: ({ phase }) =>
      phase === 'ready' ? 'good' : phase === 'error' || phase === 'offline' ? 'bad' : 'warn',
  },
  { title: 'FORMAT', cell: formatText },
  {
    title: 'WHY',
    cell: whyText,
    tint: ({ excluded, demoted }) =>
      excluded.length > 0 ? 'faint' : demoted.length > 0 ? 'warn' : undefined,
  },
];

function percent(share: number): string {
  const hundredths = share * 100;
  return `${hundredths >= 10 || Number.isInteger(hundredths) ? Math.round(hundredths) : hundredths.toFixed(1)} %`;
}

function formatText({ model, native, conversion }: ExplainedNode): string {
  if (model === undefined) return '-';
  return native ? 'native' : (conversion?.name ?? '-');
}

function whyText(node: ExplainedNode): string {
  const excluded = node.excluded.map(({ message, remedy }) => `${message} (${remedy})`);
  return [...excluded, ...remarksOf(node)].join('; ');
}

/** Remarks on a node that takes the request: why it is a last resort, what a conversion drops, notes. */
export function remarksOf(node: ExplainedNode): string[] {
  return [
    ...node.demoted.map((why) => {
      if (why.reason === 'circuit') return `last resort: its circuit is open in ${why.gateways.join(', ')}`;
      return `last resort: phase ${why.phase}, confirmed ${age(why.ageMs)} ago`;
    }),
    ...(node.openIn.length === 0
      ? []
      : [`last resort in ${node.openIn.join(', ')}, where its circuit is open`]),
    ...((node.conversion?.dropped ?? []).length === 0
      ? []
      : [`drops ${node.conversion?.dropped?.join(', ')}`]),
    ...node.notes,
  ];
}

function age(ms: number): string {
  return ago(new Date(0).toISOString(), new Date(ms));
}

const refusals: Readonly<Record<NonNullable<Explanation['refusal']>, string>> = {
  model_not_allowed: '403 model_not_allowed: the allowlist of the key does not name it',
  model_not_found: '404 model_not_found: no node that the key may use knows it',
  model_disabled: '403 model_disabled: it is disabled wherever the key may use it',
  no_node_available: '503: no node that has it enabled has a usable credential',
  conversion_refused: '400: no node that is left speaks the format, and the request cannot be converted',
};

/** The answer that a caller gets if no node takes the request, in a sentence; undefined if one does. */
export function refusalText({ refusal }: Explanation): string | undefined {
  return refusal && `No node takes the request. Callers get ${refusals[refusal]}.`;
}

/** The lines below the table: what the route depends on. */
export function conclusions({ nativeFirst, others, nodes, hasSession }: Explanation): string[] {
  const taking = nodes.filter(({ position }) => position !== undefined).length;
  return [
    ...(hasSession ? sessionText(nodes) : []),
    ...(taking > 3 ? ['One request is tried on at most 3 nodes (--max-attempts of the gateway).'] : []),
    ...(nativeFirst === 'depends'
      ? ['If a conversion would lose something, native nodes of the same priority come first: see --request.']
      : []),
    ...(nativeFirst === true
      ? [
          'A conversion would lose something of this request, so native nodes of the same priority come first.',
        ]
      : []),
    ...(others === 0
      ? []
      : [
          `${others} ${nodes.length === 0 ? '' : 'other '}node${others === 1 ? ' does' : 's do'} not know this name.`,
        ]),
  ];
}

/** Where the requests of a session go. `nodes` are in routing order. */
function sessionText([first, second]: readonly ExplainedNode[]): string[] {
  if (first?.tier === undefined) return [];
  const goes = `Requests of this session go to ${first.node}`;
  if (second?.tier !== first.tier) return [`${goes}.`];
  return [
    `${goes}; while it has more than 1.25 times its share of the requests under way, to ${second.node}.`,
  ];
}
