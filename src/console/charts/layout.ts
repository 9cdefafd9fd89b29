/** A chart as it is drawn: where its states are, and how its arrows run. All lengths in pixels. */
export interface ChartLayout {
  readonly id: string;
  /** What it shows, for people. */
  readonly title: string;
  readonly width: number;
  readonly height: number;
  /** Whoever contains others comes before them. */
  readonly states: readonly ChartState[];
  readonly arrows: readonly ChartArrow[];
}

export interface ChartState {
  /** Names from the outermost state inward, joined by dots: `rebooting.asking`. */
  readonly id: string;
  readonly name: string;
  /** What is true in it; null: its name says all. */
  readonly description: string | null;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export const ARROW_KINDS = ['main', 'leaving', 'failure'] as const;
export interface ChartArrow {
  readonly from: string;
  readonly to: string;
  /** What leads along it, for people; empty: nothing but what the states say. */
  readonly label: string;
  /** `leaving`: drawn only while the state is lit that it leaves. */
  readonly kind: (typeof ARROW_KINDS)[number];
  /** At least two: where it begins, bends and ends. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Tasks whose charts are drawn while one of them works on a machine, and that of a pool. */
export const WORK_CHARTS = ['takeover', 'recovery', 'deprovision', 'balancer'] as const;
/** What decides for the whole daemon. */
export const SERVICE_CHARTS = ['fleet', 'session', 'guard', 'provisioner'] as const;
/** States of a machine that have children of their own, and so a view from inside. */
export const INSIDE_CHARTS = [
  'Provisioned',
  'AgentStarting',
  'Running',
  'Recovering',
  'Deprovisioning',
] as const;

/** Names under which charts are served, which are those of their files as well. */
export const CHART_IDS = [
  'life',
  ...INSIDE_CHARTS.map((state) => `inside-${state}` as const),
  'inside-requests',
  ...WORK_CHARTS,
  ...SERVICE_CHARTS,
] as const;
export type ChartId = (typeof CHART_IDS)[number];
