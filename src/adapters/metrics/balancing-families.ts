import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

/** Seconds: objects of a balancer get ready in moments, or in a quarter of an hour. */
const RECONCILE_BUCKETS = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

const POOL = ['driver', 'lb', 'pool'] as const;
const CALL = ['driver', 'lb', 'resource', 'method'] as const;

/** Registers every metric of pools at their balancers, and of the calls of the balancers' drivers. */
export const balancingFamilies = (registry: Registry) => {
  const counter = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new Counter({ name: `shepherd_lb_${name}`, help, labelNames: labels, registers: [registry] });
  const gauge = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new Gauge({ name: `shepherd_lb_${name}`, help, labelNames: labels, registers: [registry] });
  const histogram = (name: string, help: string) =>
    new Histogram({
      name: `shepherd_lb_${name}`,
      help,
      labelNames: POOL,
      buckets: RECONCILE_BUCKETS,
      registers: [registry],
    });
  return {
    pass: histogram(
      'reconcile_total_duration_seconds',
      'Time of one pass over a pool: reading what is there, and what followed of it.',
    ),
    creationWait: histogram(
      'reconcile_create_resources_duration_seconds',
      'Time that objects took to get ready after they were created.',
    ),
    createErrors: counter(
      'reconcile_create_errors_total',
      'Creations, and waits for what was created, that were given up.',
      POOL,
    ),
    deleteErrors: counter(
      'reconcile_delete_errors_total',
      'Objects whose removal was given up for the moment.',
      POOL,
    ),
    deleteRetries: counter(
      'reconcile_delete_retries_total',
      'Attempts to remove an object that failed.',
      POOL,
    ),
    created: counter('reconcile_created_total', 'Objects that were created.', POOL),
    deleted: counter('reconcile_deleted_total', 'Objects that were removed.', POOL),
    pending: gauge(
      'reconcile_resources_pending',
      'Objects that are still to be created or removed, as the last plan has it.',
      [...POOL, 'operation'],
    ),
    retrieved: counter(
      'reconcile_retrieved_resources_total',
      'Objects of ours that were read at balancers, by kind.',
      [...POOL, 'type'],
    ),
    requests: counter(
      'http_client_requests_total',
      'Requests to the API of a balancer, by status; -1 is no answer.',
      [...CALL, 'status'],
    ),
    inFlight: gauge(
      'http_client_requests_in_flight',
      'Requests to the API of a balancer that wait for their answer.',
      CALL,
    ),
    members: gauge('members', 'Machines in a pool at a balancer, by state.', [...POOL, 'state']),
    drains: histogram(
      'drain_duration_seconds',
      'Time from the moment a member gets no new connections to its last one.',
    ),
    settledAt: gauge(
      'last_settled_timestamp_seconds',
      'When all of a pool was last seen to be as desired, in seconds since 1970.',
      POOL,
    ),
    state: gauge('state', 'Is 1 for the state in which a pool at a balancer is.', [
      ...POOL,
      'state',
    ]),
    frozen: gauge(
      'frozen',
      'Is 1 while the panic guard keeps members of a pool from being dropped.',
      POOL,
    ),
  };
};
