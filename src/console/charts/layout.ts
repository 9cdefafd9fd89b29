/** `leaving`: drawn only while the state is lit that it leaves. */
export const ARROW_KINDS = ['main', 'leaving', 'failure'] as const;

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
