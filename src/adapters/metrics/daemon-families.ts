import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

const CALL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Few, as there is one set for each route. */
const HTTP_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];
/** Conflicts are rare; fifty attempts are the most. */
const ATTEMPT_BUCKETS = [1, 2, 3, 5, 10, 20, 50];

/** Registers every metric of the daemon's session, transactions, loops and housekeeping. */
export const daemonFamilies = (registry: Registry) => {
  const { counter, gauge, histogram } = kit(registry);
  return {
    pokeSeconds: histogram('session_poke_seconds', 'Time to extend the session.', CALL_BUCKETS, [
      'processor',
    ]),
    deadlineRemaining: gauge(
      'session_deadline_remaining_seconds',
      'Time until the session of this daemon counts as dead, 0 without one.',
      ['processor'],
    ),
    attempts: histogram(
      'transaction_attempts',
      'Attempts that transactions of the BMDB took, given up or not.',
      ATTEMPT_BUCKETS,
      ['processor'],
    ),
    ambiguous: counter(
      'transaction_ambiguous_total',
      'Transactions of which it was not known at first whether they were committed.',
      ['processor'],
    ),
    janitorRemoved: counter(
      'janitor_removed_total',
      'Rows that nobody needed any more, removed by this daemon.',
      ['kind'],
    ),
    janitorSuccess: gauge(
      'janitor_last_success_timestamp_seconds',
      'When the janitor of this daemon last went through, in seconds since 1970.',
      ['kind'],
    ),
    loopSuccess: gauge(
      'loop_last_success_timestamp_seconds',
      'When a loop of this daemon last succeeded, or began if never, in seconds since 1970.',
      ['loop'],
    ),
    loopErrors: counter('loop_errors_total', 'Runs of loops that failed.', ['loop']),
    loopWorkers: gauge('loop_workers', 'Tasks under way in a loop of this daemon.', ['loop']),
    hostKeyChanges: counter(
      'ssh_hostkey_changes_total',
      'Machines that showed another host key than is known of them, and were not spoken to.',
      ['provider'],
    ),
    installations: counter(
      'installations_total',
      'Installations of operating systems that agents told the end of.',
      ['result'],
    ),
    ready: gauge('ready', 'Is 1 while a check of readiness of this daemon is passed.', ['check']),
    role: gauge('role', 'Is 1 if this daemon has the role, else 0.', ['role']),
    overdue: gauge(
      'machines_overdue',
      'Machines that take far longer than their step may, and than others took.',
      ['provider', 'state'],
    ),
    oldestIntent: gauge(
      'provision_intent_oldest_seconds',
      'Age of the oldest creation that was begun and is not settled, 0 without one.',
      ['provider'],
    ),
    listingAge: gauge(
      'listing_age_seconds',
      'Age of the last complete listing of a provider by this daemon.',
      ['provider'],
    ),
    eventsWaiting: gauge(
      'events_waiting_seconds',
      'How long events wait to be told for a transaction that stays open, 0 where none does.',
      [],
    ),
    certificates: new Gauge({
      name: 'tls_certificate_not_after_seconds',
      help: 'When a certificate that this daemon shows ends, in seconds since 1970.',
      labelNames: ['name'],
      registers: [registry],
    }),
  };
};

/** Registers every metric of the console and of the log. */
export const consoleFamilies = (registry: Registry, suppressed = () => 0) => {
  const { counter, gauge, histogram } = kit(registry);
  return {
    requests: counter('requests_total', 'What people asked for, by how the asking ended.', [
      'verb',
      'via',
      'outcome',
    ]),
    http: histogram(
      'http_request_seconds',
      'Time to answer calls of the console, streams left out.',
      HTTP_BUCKETS,
      ['route', 'method', 'status'],
    ),
    streams: gauge('streams', 'Streams that are open at this console.', []),
    streamsDropped: counter(
      'streams_dropped_total',
      'Streams that were ended because their reader did not read.',
      [],
    ),
    logSuppressed: new Counter({
      name: 'shepherd_log_suppressed_total',
      help: 'Lines of the log that were counted instead of written, as they repeat others.',
      registers: [registry],
      collect() {
        this.reset();
        this.inc(suppressed());
      },
    }),
  };
};

const kit = (registry: Registry) => ({
  counter: <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new Counter({ name: `shepherd_${name}`, help, labelNames: labels, registers: [registry] }),
  gauge: <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new Gauge({ name: `shepherd_${name}`, help, labelNames: labels, registers: [registry] }),
  histogram: <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labels: readonly Label[],
  ) =>
    new Histogram({
      name: `shepherd_${name}`,
      ...{ help, buckets, labelNames: labels, registers: [registry] },
    }),
});
