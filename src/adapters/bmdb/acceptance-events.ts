import type { AcceptanceCheck } from '../../domain/acceptance.ts';
import { isConditionType, type ReportedCondition } from '../../domain/conditions.ts';
import { HARDWARE_COMPLETE } from './missing-hardware.ts';

/** What the result of an acceptance leaves behind. @param why it failed; empty: it passed. */

/** Its line in the slot's log, by the component that receives heartbeats. */
export const acceptedLine = (why: string) => ({
  kind: why === '' ? ('accepted' as const) : ('acceptanceFailed' as const),
  actor: 'bmsrv',
  reason: why === '' ? 'no check failed' : why,
});

export const failedCondition = (why: string): ReportedCondition => ({
  ...{ type: 'acceptance-failed', status: why === '' ? 'False' : 'True', detail: '' },
  reason: why === '' ? 'no check failed' : why,
});

/** What a passed check proves, whatever the agent reported before. */
export const provenConditions = (checks: readonly AcceptanceCheck[]): ReportedCondition[] =>
  checks.flatMap(({ name: type, status, found: reason }) =>
    status === 'ok' && isConditionType(type) ? [{ type, status: 'False', reason, detail: '' }] : [],
  );

/** The present parts are accepted. */
export const PARTS_ACCEPTED: ReportedCondition = {
  ...HARDWARE_COMPLETE,
  reason: 'its present parts were accepted',
};
