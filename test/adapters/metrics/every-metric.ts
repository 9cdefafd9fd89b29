import type { Metrics } from '../../../src/adapters/metrics/port.ts';
import type { DaemonRole } from '../../../src/domain/daemons.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { byProcess, STATISTICS_PARTS } from '../../../src/domain/statistics.ts';

/**
 * Every method at least once, so that every family has a series; with values that differ where one
 * could be taken for another.
 */
export function touchAll(metrics: Metrics): void {
  metrics.transition('equinix', 'Reserved', 'Provisioned');
  const pool = { driver: 'haproxy', lb: 'edge', pool: 'api' };
  metrics.poolTended(pool);
  metrics.poolPass(pool, 3);
  metrics.poolCreationWait(pool, 5);
  for (const [index, what] of (
    ['created', 'deleted', 'createError', 'deleteError', 'deleteRetry'] as const
  ).entries()) {
    metrics.poolWrites(pool, what, index + 11);
  }
  metrics.poolPending(pool, { create: 2, destroy: 1 });
  metrics.poolRetrieved(pool, 'bind', 4);
  metrics.poolDrained(pool, 17);
  metrics.poolLeft({ ...pool, pool: 'web' });
  metrics.poolStanding(pool, {
    state: 'waiting',
    isFrozen: true,
    settledAtMs: 1_700_000_000_500,
    members: { active: 6, draining: 1 },
  });
  const call = { driver: 'anexia', balancer: 'cloud', resource: 'LBaaS/v1/bind', method: 'GET' };
  metrics.balancerCall({ ...call, status: '-1' });
  metrics.balancerInFlight(call, 1);
  metrics.machines([
    { provider: 'equinix', state: 'Running', substate: 'healthy', count: 3, needHuman: 0 },
    { provider: 'equinix', state: 'Quarantined', substate: 'needsHuman', count: 2, needHuman: 2 },
  ]);
  metrics.workStarted('ShepherdAgentStart');
  metrics.workFinished('ShepherdAgentStart', 'finished');
  metrics.workFinished('ShepherdRecovery', 'lost');
  metrics.claimConflict('ShepherdRecovery');
  metrics.webhookConfigured('pager');
  metrics.webhookDelivery('pager', 'delivered');
  metrics.webhookOldest('pager', 12);
  for (const outcome of ['ok', 'unauthenticated', 'invalid', 'unavailable', 'limited'] as const) {
    metrics.heartbeat(outcome);
  }
  metrics.heartbeat('ok');
  metrics.adapterCall('equinix', 'list', 'ok');
  metrics.driverOpened('rack', ['List', 'Create']);
  metrics.driverCall('rack', 'Create', true, 12);
  metrics.agentStartFailure('connect');
  metrics.insecureConnection('equinix');
  metrics.reboot('equinix', 'ok');
  metrics.provisioner('equinix', {
    bmdb: 15,
    used: 16,
    free: 14,
    failed: 11,
    orphan: 10,
    missing: 9,
    penalised: 12,
    managed: 17,
    max: 13,
    overLimit: 4,
    intents: 8,
    isBreakerOpen: true,
  });
  metrics.creation('equinix', 'created');
  metrics.disappeared('Running');
  metrics.deprovisionStuck('equinix');
  metrics.sessionStarted('shepherd');
  metrics.sessionExpired('shepherd');
  metrics.transaction('executed', 'bmsrv');
  metrics.transaction('retried', 'shepherd-recoverer');
  metrics.transaction('failed', 'scruffy-stats');
  metrics.actorCrash();
  metrics.stateMismatch();
  metrics.serviceCrash('guard');
  metrics.guard(
    [
      { scope: 'fleet', state: 'suspicious', sinceMs: 1, reason: 'nine are silent' },
      { scope: 'equinix', state: 'frozen', sinceMs: 1, reason: 'nine are silent' },
    ],
    [
      {
        scope: 'equinix',
        machines: 21,
        started: 20,
        silent: 9,
        newlySilent: 8,
        quiet: 10,
        unreachable: 7,
      },
    ],
  );
  metrics.guardFrozen('equinix', 12.5);
  metrics.recoveryBudget([{ scope: 'location am6', permits: 1, budget: 2 }]);
  metrics.ladderAttempt('equinix', 'rebooting', 'asked');
  metrics.ladderAttempt('equinix', 'reinstalling', 'proved');
  metrics.escalation('equinix', 'reinstalling');
  metrics.observe(
    'work_duration_seconds',
    { process: 'ShepherdAgentStart', result: 'finished' },
    4,
  );
  metrics.observe(
    'work_queue_wait_seconds',
    { process: 'ShepherdAgentStart', result: 'finished' },
    1,
  );
  metrics.observe('heartbeat_seconds', { outcome: 'ok' }, 0.01);
  metrics.bmcUnresponsive('rack', 3);
  metrics.equinixCall('ListDevices', '200', 0.2);
  metrics.equinixSlots(2, 1);
  metrics.equinixRetry('GetDevice', 'status');
  metrics.equinixPaused('rate_limit', 7);
  metrics.equinixCreate('adopted');
  metrics.equinixReservations({ available: 4, in_use: 1 });
  metrics.equinixWalk('ListDevices', true);
  touchDaemon(metrics);
  touchStatistics(metrics);
}

function touchDaemon(metrics: Metrics): void {
  metrics.sessionPoke(0.02);
  metrics.transactionAttempts('bmsrv', 3);
  metrics.transactionAmbiguous('shepherd');
  metrics.swept({ session: 1, work: 2, permit: 3, history: 4 }, 1_700_000_000_250);
  metrics.creation('equinix', 'abandoned');
  metrics.loopFailed('guard');
  metrics.hostKeyChanged('equinix');
  metrics.installation('Error');
  metrics.request('reboot', 'token', 'filed');
  metrics.httpRequest('/api/v1/machines', 'GET', 200, 0.03);
  metrics.streams(2);
  metrics.streamDropped();
  const rack = { provider: 'rack', listingSeconds: 90, oldestIntentSeconds: 45, isOurs: false };
  metrics.standing({
    roles: new Set<DaemonRole>(['loops', 'console']),
    ready: { session: true, database: false },
    sessionSeconds: 4.5,
    eventsWaitingSeconds: 7,
    loops: [
      { loop: 'guard', lastSuccessAtMs: 1_700_000_000_750 },
      { loop: 'listing rack', lastSuccessAtMs: null },
    ],
    workers: { agentStart: 5, recovery: 6, deprovision: 0 },
    overdue: [{ provider: 'equinix', state: 'Recovering', count: 3 }],
    providers: [{ ...rack, provider: 'equinix', oldestIntentSeconds: 0, isOurs: true }, rack],
    certificates: [{ name: 'console', notAfterMs: 1_800_000_000_000 }],
  });
}

function touchStatistics(metrics: Metrics): void {
  const none = byProcess(() => 0);
  const counts = {
    machines: 19,
    provided: 18,
    heartbeating: 17,
    installationPending: 16,
    installed: 15,
    installationFailed: 14,
    pendingAgentStart: 13,
    pendingRecovery: 12,
    activeWork: { ...none, ShepherdAgentStart: 11 },
    activeBackoffs: { ...none, ShepherdRecovery: 10, UnitTest1: 99 },
  };
  const counted = { fleet: counts, providers: new Map([[providerName('equinix'), counts]]) };
  for (const part of STATISTICS_PARTS) {
    metrics.statistics(part, counted);
    metrics.statisticsRead(part, 1_700_000_000_125);
  }
  metrics.statisticsRead('hardware', null);
  metrics.hardware({
    regions: [{ provider: 'equinix', location: 'am6', nodes: 2, ramBytes: 2 ** 38, threads: 64 }],
    skipped: 1,
  });
}

/** Another daemon has the job of counting; what it leaves behind is no series less. */
export const touchLeaving = (metrics: Metrics): void => metrics.statisticsLeft();
