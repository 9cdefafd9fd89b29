import type { Metrics } from '../../../src/adapters/metrics/port.ts';

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
    { provider: 'equinix', state: 'Running', substate: 'healthy', count: 3 },
    { provider: 'equinix', state: 'Quarantined', substate: 'needsHuman', count: 2 },
  ]);
  metrics.workStarted('ShepherdAgentStart');
  metrics.workFinished('ShepherdAgentStart', 'finished');
  metrics.workFinished('ShepherdRecovery', 'lost');
  metrics.claimConflict('ShepherdRecovery');
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
  metrics.equinixCall('ListDevices', '200', 0.2);
  metrics.equinixSlots(2, 1);
  metrics.equinixRetry('GetDevice', 'status');
  metrics.equinixPaused('rate_limit', 7);
  metrics.equinixCreate('adopted');
  metrics.equinixReservations({ available: 4, in_use: 1 });
  metrics.equinixWalk('ListDevices', true);
}
