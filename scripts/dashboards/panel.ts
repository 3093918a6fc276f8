/** One query of a panel; `legend` is Grafana's template of a series' name. */
export interface Query {
  readonly expr: string;
  readonly legend: string;
}

/** A panel of a dashboard. Widths are of Grafana's 24 columns. */
export interface Panel {
  readonly title: string;
  /** What it shows and what to look for, for whoever holds the mouse over it. */
  readonly about: string;
  readonly kind: 'timeseries' | 'stat' | 'table';
  readonly unit: string;
  readonly width: 4 | 6 | 8 | 12 | 24;
  readonly queries: readonly Query[];
  /** Whether the series add up. */
  readonly stacked?: true;
}

/** A dashboard: rows of panels, and the labels that one may choose by. */
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly variables: readonly { readonly name: string; readonly query: string }[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: it is Grafana that fills it in
const source = { type: 'prometheus', uid: '${datasource}' };
const heights = { timeseries: 8, stat: 4, table: 9 } as const;

/** The JSON that Grafana (11 and newer) imports. Deterministic. */
export function grafanaJson({ uid, title, variables, rows }: Dashboard): string {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({ type: 'row', title: row.title, id: panels.length + 1, gridPos: { x: 0, y, w: 24, h: 1 } });
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of row.panels) {
      if (x + panel.width > 24) {
        y += height;
        x = 0;
        height = 0;
      }
      const h = heights[panel.kind];
      panels.push(panelJson(panel, panels.length + 1, { x, y, w: panel.width, h }));
      x += panel.width;
      height = Math.max(height, h);
    }
    y += height;
  }
  const dashboard = {
    uid,
    title,
    tags: ['model-gateway'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        ...variables.map(({ name, query }) => ({
          name,
          type: 'query',
          datasource: source,
          query: { query, refId: name },
          refresh: 2,
          includeAll: true,
          multi: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
          sort: 1,
        })),
      ],
    },
    panels,
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

function panelJson(panel: Panel, id: number, gridPos: object): object {
  const { title, about, kind, unit, queries, stacked } = panel;
  const isTable = kind === 'table';
  return {
    id,
    title,
    description: about,
    type: kind,
    datasource: source,
    gridPos,
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: source,
      expr,
      legendFormat: legend,
      ...(kind === 'timeseries'
        ? { range: true }
        : { instant: true, format: isTable ? 'table' : 'time_series' }),
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(kind === 'timeseries'
          ? {
              custom: {
                fillOpacity: stacked === true ? 30 : 8,
                stacking: { mode: stacked === true ? 'normal' : 'none' },
              },
            }
          : {}),
      },
      overrides: [],
    },
    options:
      kind === 'timeseries'
        ? {
            legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'] },
            tooltip: { mode: 'multi' },
          }
        : kind === 'stat'
          ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value' }
          : { showHeader: true },
    ...(isTable
      ? {
          transformations: [
            { id: 'merge', options: {} },
            { id: 'organize', options: { excludeByName: { Time: true } } },
          ],
        }
      : {}),
  };
}
