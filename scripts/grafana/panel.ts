import type { Dashboard, DashboardLink, Panel } from '@grafana/schema';

/** The content of a panel: Prometheus expressions with their legends. */
export interface Figure {
  readonly title: string;
  /** The panel's purpose, shown as its description. */
  readonly says: string;
  readonly queries: readonly (readonly [expression: string, legend: string])[];
  /** Grafana's unit: `short`, `s`, `percentunit`, `bytes`, `reqps`. */
  readonly unit?: string;
  /** Single numbers without history. */
  readonly isNow?: boolean;
  /** Runbook of the alert on this figure. */
  readonly runbook?: string;
}

export interface Board {
  readonly uid: string;
  readonly title: string;
  readonly figures: readonly Figure[];
}

const SOURCE = { type: 'prometheus', uid: '${source}' } as const;
/** Panels per row, and the size of a panel. */
const COLUMNS = 2;
const SIZE = { w: 24 / COLUMNS, h: 8 };

/** A dashboard in Grafana's import format; the import asks for the console's address. */
export const dashboardOf = ({ uid, title, figures }: Board): Dashboard => ({
  uid,
  title,
  tags: ['shepherd'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-6h', to: 'now' },
  timezone: 'browser',
  links: [
    link('Console', '${console}'),
    link('Runbooks', '${console}/runbooks/'),
    { ...link('Dashboards', ''), type: 'dashboards', tags: ['shepherd'], asDropdown: true },
  ],
  templating: {
    list: [
      { name: 'source', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
      {
        name: 'console',
        label: 'Console',
        type: 'textbox',
        query: 'https://shepherd.example.org',
        current: { text: 'https://shepherd.example.org', value: 'https://shepherd.example.org' },
      },
    ],
  },
  panels: figures.map(panelOf),
});

const link = (title: string, url: string): DashboardLink => ({
  ...{ title, url, type: 'link', icon: 'external link', tooltip: '', tags: [] },
  ...{ asDropdown: false, targetBlank: true, includeVars: false, keepTime: false },
});

function panelOf(figure: Figure, index: number): Panel {
  const { title, says, queries, unit = 'short', isNow = false, runbook } = figure;
  return {
    ...{ id: index + 1, title, description: says, datasource: SOURCE },
    type: isNow ? 'stat' : 'timeseries',
    gridPos: {
      ...{ ...SIZE, x: (index % COLUMNS) * SIZE.w },
      y: Math.floor(index / COLUMNS) * SIZE.h,
    },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: isNow
      ? { reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list' } },
    ...(runbook && { links: [link(`Runbook: ${runbook}`, `\${console}/runbooks/${runbook}`)] }),
    targets: queries.map(([expr, legendFormat], at) => ({
      ...{ refId: String.fromCharCode(65 + at), expr, legendFormat, datasource: SOURCE },
    })),
  };
}
