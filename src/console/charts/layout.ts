/** `leaving`: drawn only while its source state is lit. */
export const ARROW_KINDS = ['main', 'leaving', 'failure'] as const;

/** Charts of tasks that are drawn while the task works on a machine, and the chart of a pool. */
export const WORK_CHARTS = ['takeover', 'recovery', 'deprovision', 'balancer'] as const;
/** Charts of decisions for the whole daemon. */
export const SERVICE_CHARTS = ['fleet', 'session', 'guard', 'provisioner'] as const;
/** Machine states with child states, and so with an inner view. */
export const INSIDE_CHARTS = [
  'Provisioned',
  'AgentStarting',
  'Running',
  'Recovering',
  'Deprovisioning',
] as const;

/** Names of the served charts, and of their files. */
export const CHART_IDS = [
  'life',
  ...INSIDE_CHARTS.map((state) => `inside-${state}` as const),
  'inside-requests',
  ...WORK_CHARTS,
  ...SERVICE_CHARTS,
] as const;
export type ChartId = (typeof CHART_IDS)[number];

/** The name of a chart's drawing. The API promised the drawing of `agentStart` by another name. */
export const drawingOf = (chart: string): string => (chart === 'agentStart' ? 'takeover' : chart);
