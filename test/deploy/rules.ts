import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { RULES } from './promtool.ts';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: 'critical' | 'warning' | 'info' };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

/** The shipped rules. */
export const SHIPPED: readonly AlertRule[] = (
  parse(readFileSync(RULES, 'utf8')) as { groups: { rules: AlertRule[] }[] }
).groups.flatMap(({ rules }) => rules);

/** `ShepherdGuardFrozen`: `guard-frozen`. */
export const runbookOf = (alert: string): string =>
  alert
    .replace(/^Shepherd/, '')
    .replaceAll(/(?<!^)(?=[A-Z])/g, '-')
    .toLowerCase();
