import type { PlanAnswer } from '../../src/console/api/plan-schema.ts';
import { providerName, sessionId, slot } from '../../src/domain/ids.ts';
import { AT_MS } from './scripted-fleet.ts';

const SESSION = sessionId('11111111-1111-4111-8111-111111111111');

/** Contains one action of each kind. */
export const PLAN: PlanAnswer = {
  atMs: AT_MS + 0.5,
  providers: [
    {
      ...{ provider: providerName('equinix'), sessionId: SESSION, isHere: true },
      ...{ mayEraseDisks: true, unlisted: null },
      plan: {
        atMs: AT_MS - 4_000.5,
        breaker: '7 of 20 machines disagree',
        summary: {
          ...{ bmdb: 3, used: 3, free: 5, failed: 0, orphan: 1, missing: 0, penalised: 1 },
          ...{ managed: 3, max: 4 },
        },
        ...{ overLimit: 0, leftOut: 3, service: null, creationCount: 1 },
        creations: [{ slot: slot('equinix', 'd'), verdict: 'create', reason: 'it is free' }],
        skipped: [{ reason: 'maxMachines allows 4', count: 3, slots: [] }],
        findings: [
          {
            ...{ case: 'orphan', action: 'none', count: 1 },
            examples: [
              {
                ...{ slot: slot('equinix', 'o'), device: 'dev-1', machineId: null },
                reason: '<img src=x onerror="alert(1)">',
              },
            ],
          },
        ],
      },
    },
  ],
  work: [
    {
      ...{ work: 'recovery', count: 60 },
      machines: [
        {
          ...{ slot: slot('equinix', 'a'), state: 'Running', substate: 'silent' },
          sentence: 'Running · silent',
          blockedBy: [
            {
              ...{ kind: 'hold', text: "ann's hold no-recover forbids recovery" },
              ...{ endsAtMs: AT_MS + 60_000, endedBy: 'the clock' },
            },
          ],
          next: { work: 'recovery', atMs: AT_MS + 60_000, text: 'restart of its agent' },
        },
      ],
    },
    { work: 'agentStart', count: 0, machines: [] },
    { work: 'deprovision', count: 0, machines: [] },
  ],
  pools: [
    {
      ...{ pool: 'api', balancer: 'edge', sessionId: SESSION, isHere: true },
      seenAtMs: AT_MS - 1_000.5,
      plan: {
        ...{ failure: null, panic: ['equinix/b'] },
        held: 'paused by ann: maintenance',
        moves: [{ member: 'equinix/a', from: 'active', to: 'draining', why: 'it is rebooted' }],
        leftOut: [{ machineId: '22222222-2222-4222-8222-222222222222', why: 'no address' }],
        ...{ stage: 'settled', actions: [], unready: 0, shelved: [] },
        pending: { create: 0, update: 0, destroy: 0 },
        ...{ dropping: [], isComplete: true },
      },
    },
    {
      ...{ pool: 'api', balancer: 'core', sessionId: null, isHere: false },
      ...{ seenAtMs: null, plan: null },
    },
  ],
};

export const planView = () => () => PLAN;
