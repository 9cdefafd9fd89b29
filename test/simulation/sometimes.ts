import type { Subscription } from 'rxjs';
import type { RollChange } from '../../src/adapters/bmdb/port.ts';
import type { CreateRequest } from '../../src/adapters/provider/port.ts';
import { AGENT_START_BACKOFF, RECOVERY_BACKOFF } from '../../src/domain/backoff.ts';
import { codeOf } from '../../src/domain/errors.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { PlayedDaemon, PlayedWorld } from '../support/played-world.ts';
import type { Interceptor, PortCall } from './intercept.ts';

/** How often each fact occurred in a run. Facts are lines such as `state Running healthy`. */
export type FactTally = Map<string, number>;

export type Facts = ReturnType<typeof gatherFacts>;

/** Two claims of one machine within this time count as simultaneous. */
const MEET_MS = 2_000;
/** Length of the pause after the first failure. */
const GROWN = 4;

/** Counts the facts of a run from the daemons' calls, views, logs and metrics, and the database. */
export function gatherFacts({ clock, bmdb }: PlayedWorld) {
  const tally: FactTally = new Map();
  const lives: PlayedDaemon[] = [];
  const subscriptions: Subscription[] = [];
  const claims = new Map<unknown, { readonly by: string; readonly atMs: number }>();
  const { tables } = bmdb;
  const add = (fact: string) => void tally.set(fact, (tally.get(fact) ?? 0) + 1);

  function asked(by: string, { path, args }: PortCall) {
    if (path === 'provider.createMachine' && (args[0] as CreateRequest).resumed) {
      add('creation asked again');
    }
    if (path === 'bmdb.rolls.step') add(`roll waits: ${(args[1] as RollChange).note}`);
    if (path !== 'bmdb.session.claim') return;
    const before = claims.get(args[1]);
    const atMs = clock.monotonic();
    if (before && before.by !== by && atMs - before.atMs < MEET_MS)
      add('claims of two daemons meet');
    claims.set(args[1], { by, atMs });
  }
  function refused({ path, args }: PortCall, code: string) {
    add(`call ${path} ${code}`);
    if (path !== 'bmdb.session.claim' || code !== 'nothing-to-do') return;
    const slotId = tables.machines.get(args[1] as MachineId)?.row.provided?.reservationId;
    if (tables.holds.some((hold) => hold.slotId === slotId)) add('hold bars');
  }
  function failed() {
    for (const { row } of tables.machines.values()) {
      for (const { process, lastIntervalSeconds } of row.backoffs) {
        const { initialMs } =
          process === 'ShepherdRecovery' ? RECOVERY_BACKOFF : AGENT_START_BACKOFF;
        if (lastIntervalSeconds! * 1_000 >= GROWN * initialMs) add('a pause of four times');
      }
    }
  }

  return {
    /** Listens to the port calls of a daemon. */
    of: (by: string): Interceptor => ({
      async around(call, run) {
        asked(by, call);
        try {
          const result = await run();
          if (call.path === 'bmdb.work.fail') failed();
          return result;
        } catch (error) {
          refused(call, codeOf(error));
          throw error;
        }
      },
    }),
    /** A daemon starts. */
    follow(played: PlayedDaemon) {
      lives.push(played);
      const shown$ = played.daemon.parts.changes.subscribe((change) => {
        if (change.type === 'removed') return add('slot removed');
        const { state, substate, view } = change.entry;
        add(`state ${state} ${substate}`);
        if (view.conditions && view.holds.includes('no-serve')) add('a condition drains');
        if (played.daemon.parts.mirror.suspicious().size > 0) add('a condition is suspicious');
      });
      subscriptions.push(shown$);
    },
    /** A fault struck a call. */
    spoilt: (effect: string, { path }: PortCall) => add(`spoilt ${path} ${effect}`),
    /** A daemon is about to be killed. */
    killed(daemon: string) {
      for (const { sessionId } of tables.work) {
        const { runtimeInfo } = tables.sessions.get(sessionId) ?? {};
        if (runtimeInfo?.includes(daemon)) add('killed while it holds a machine');
      }
    },
    end(): FactTally {
      for (const subscription of subscriptions) subscription.unsubscribe();
      for (const { log, metrics } of lives) {
        for (const { message } of log.lines) add(`log ${message}`);
        for (const { name, labels } of metrics.calls) {
          add(['count', name, ...Object.values(labels)].join(' '));
        }
      }
      const givenBack = new Set<string>();
      const failed = new Set<string>();
      for (const { kind, reason, slot } of tables.events) {
        add(`event ${kind}: ${reason}`);
        if (kind === 'deprovisioned') givenBack.add(slot);
        if (kind === 'adopted' && givenBack.has(slot)) add('made again');
        if (kind === 'acceptanceFailed') failed.add(slot);
        if (kind === 'accepted' && failed.has(slot)) add('accepted after a failure');
      }
      for (const { type, actor, details } of tables.told) {
        add(`told ${type} ${Object.values(details).join(' ')}`);
        if (type === 'guard.thawed' && actor === 'guard') add('guard thawed it');
      }
      for (const { process, event, cause } of tables.history)
        add(`work ${process} ${event}: ${cause}`);
      for (const { state, replaces } of tables.intents.values()) {
        add(`intent ${state}`);
        if (replaces) add('a machine is replaced');
      }
      for (const { state, failures } of tables.rolls.values()) {
        add(`roll ${state} with ${failures.length} failures`);
      }
      for (const { verb, state, outcome } of tables.requests.values()) {
        add(`request ${verb} ${state}: ${outcome}`);
      }
      return tally;
    },
  };
}

/**
 * Every situation: id, sentence, and the prefixes of the facts that show it. An indented line
 * continues the line before.
 */
const TABLE = String.raw`
reserved | a slot waits for its machine | state Reserved available
penalised | a slot rests after a failed creation | state Reserved penalised
creating | a machine is created | state Reserved creating
waiting | a machine waits for its agent | state Provisioned waiting
backing-off | an agent start waits after a failure | state Provisioned backingOff
installing | a provider installs a machine | state Provisioned installing
stopped | a machine is switched off | state Provisioned stopped
start-claimed | a daemon claims an agent start | state AgentStarting claiming
started-elsewhere | a daemon sees another one start an agent | state AgentStarting elsewhere
awaiting-heartbeat | an agent was started and has not reported yet | state Running awaitingHeartbeat
healthy | a machine is healthy | state Running healthy
late | a heartbeat is late | state Running late
silent | a machine falls silent | state Running silent
cooling-down | a machine rests between two attempts to recover it | state Recovering coolingDown
needs-human | a machine needs a person | state Quarantined needsHuman
conflict | two claims of one slot contradict each other | state Quarantined conflict
quarantined | an operator quarantines a machine | state Quarantined byOperator
missing | a machine's device is missing | state Quarantined missing
draining | a machine leaves its pools before it is given back | state Deprovisioning draining
deleting | a machine is given back | state Deprovisioning (deleting|asking)
cleaning | a slot is not free yet after its machine was given back |
    state Deprovisioning (cleaning|awaitingReusable)
rung-restart | recovery restarts an agent |
    count shepherd_ladder_attempts_total \S+ restartingAgent asked
rung-reboot | recovery reboots a machine | count shepherd_ladder_attempts_total \S+ rebooting asked
rung-power | recovery switches a machine off and on |
    count shepherd_ladder_attempts_total \S+ powerCycling asked
rung-reinstall | recovery installs a machine anew |
    count shepherd_ladder_attempts_total \S+ reinstalling asked
restart-helps | an agent's restart brings a machine back | event recovered: restartingAgent
reboot-helps | a reboot brings a machine back | event recovered: rebooting
power-helps | a power cycle brings a machine back | event recovered: powerCycling
reinstall-helps | a new installation brings a machine back | event recovered: reinstalling
rung-fails | an attempt of recovery fails | count shepherd_ladder_attempts_total \S+ \S+ failed
escalation | recovery goes on to a stronger means | count shepherd_escalations_total
heard-again | a machine comes back | event heardAgain
unreachable | a machine cannot be reached, and its permit is returned |
    log beyond reach: its permit is returned
no-permit | a recovery waits for a permit | call bmdb.work.note no-permit
budget-spent | the budget of recovery is spent | work ShepherdRecovery Canceled: \d+ of \d+ machines
boot-unproved | no evidence of a boot comes | work ShepherdRecovery Failed: no evidence
session-lost | a session ends before its daemon | told session.expired
lost-at-work | a session ends while its daemon works on a machine |
    work \S+ Canceled: session expired
killed-at-work | a daemon is killed while it holds a machine | killed while it holds a machine
claims-meet | two daemons claim one machine at about the same time | claims of two daemons meet
claim-refused | a claim comes too late | call bmdb.session.claim (nothing-to-do|work-conflict)
end-lost | the answer to the end of work is lost | spoilt bmdb.work.(finish|fail|cancel) lost
start-fails | an agent start fails | work ShepherdAgentStart Failed
recovery-fails | a recovery fails | work ShepherdRecovery Failed
backoff-grows | a pause grows to four times its beginning | a pause of four times
creation-resumed | a creation is asked for again by its key | creation asked again
creation-taken-up | a daemon takes up the creation of another one | log a creation is resumed
creation-unknown | the outcome of a creation is not known |
    count shepherd_provision_outcomes_total \S+ unknown
creation-refused | a creation is refused |
    count shepherd_provision_outcomes_total \S+ (rejected|capacity|race_lost|quota|unavailable)
device-adopted | a device is found by its witness after its creation was interrupted |
    count shepherd_provision_outcomes_total \S+ adopted
intent-abandoned | a creation that led to nothing is given up | intent (abandoned|failed)
orphan | a device that nobody asked for is reported | log a device has our name, and no record refers to it
stranger | a device of another owner is left alone | log devices of other owners are left alone
untagged | a machine that lost its tag is not touched | work \S+ Failed: .*is not ours
tagged | a machine gets a tag | call provider.setTags
host-key-changed | a host key is another one than before |
    event (quarantined|workFailed): .*host key
moved | a machine has another address | log provider data updated
list-disbelieved | a listing without machines is not believed | log the listing is not trusted
list-believed | a listing is believed again | log the listing is trusted again
list-incomplete | an incomplete listing has machines looked at one by one |
    log machines are read one by one
list-fails | a provider cannot be listed | log the provider could not be listed
missing-back | a missing machine is back | log a missing machine is back
gone | a machine whose device is gone is given up | log the device is gone
throttled | a provider asks for a pause | log a hold on the provider is imposed
frozen-silence | too much silence at once freezes recovery | told guard.frozen \S+ silence
frozen-manual | an operator freezes recovery | told guard.frozen \S+ manual
thawed-by-itself | recovery thaws by itself | guard thawed it
many-late | too many machines are late for a verdict | log too many machines are late or silent
observer-out | nobody is recovered before heartbeats were taken in long enough |
    log machines are not recovered until heartbeats
guard-blind | a daemon cannot judge the fleet | log the guard could not assess the fleet
database-away | a daemon cannot read its database | log the BMDB could not be read
unsettled | a request cannot be settled at once | log a request could not be applied yet
ordered | an order is carried out | request (reboot|restart-agent|reinstall) done
order-refused | an order can never be carried out | request (reboot|restart-agent|reinstall) refused
order-expired | an order expires | request (reboot|restart-agent|reinstall) refused: it expired
order-withdrawn | an order is withdrawn | request (reboot|restart-agent|reinstall) refused: .*withdr
reinstall-ordered | an operator has a machine installed anew | request reinstall done
held | a hold is set | told hold.set
hold-expired | a hold ends by itself | told hold.expired
hold-bars | a hold keeps a daemon from its work | hold bars
condition | a machine has a condition | told condition.set
condition-ends | a source takes a condition back | told condition.cleared
condition-drains | a condition takes a machine out of its pools | a condition drains
many-conditions | too many machines have a condition together | a condition is suspicious
chronic | a machine that fails again and again is left alone | event quarantined: needsHuman: it is chronic
retired | a slot is retired | told machine.retired
unretired | a retired slot is used again | told machine.unretired
retired-by-itself | recovery retires a chronic machine | event retired: .*chronic
replaced | a machine takes the place of a lost one | a machine is replaced
case-opened | a machine gets a case | told case.opened
case-worked-on | a person notes something in a case | told case.noted
case-closed | a person closes a case | told case.closed
acceptance-failed | a machine is not accepted | event acceptanceFailed
acceptance-repaired | a machine is accepted after a failure | accepted after a failure
acceptance-asked | a person has a machine checked again | request accept done
roll-started | a person starts a rolling action | told roll.started
roll-done | a rolling action reaches its end | told roll.done
roll-stopped | a rolling action stops at a failure | told roll.stopped
roll-aborted | a person aborts a rolling action | told roll.aborted
roll-survives | a rolling action goes on after a failure | roll done with [1-9]
roll-frozen | a rolling action waits for a thaw | roll waits: .*recovery is frozen
roll-closed | a rolling action waits for a window | roll waits: .*window \S+ opens at
released | a person releases a machine | told machine.released
given-back | a machine is given back | told machine.deprovisioned
made-again | a slot gets a machine again after one was given back | made again
stop-cuts | a stop ends work before its time | log tasks are cancelled
leap | a daemon sees a state that does not follow |
    log the machine is in a state that does not follow
notification-lost | a notification is lost, and the next read finds the change |
    struck notification-lost
controller-reset | a controller that hangs is restarted | log its controller is restarted
pool-joins | a machine joins its pools | log a member is noted
`;
const ROWS = TABLE.trim()
  .replaceAll(/\n +/g, ' ')
  .split('\n')
  .map((line) => {
    const [id = '', sentence = '', facts = ''] = line.split(' | ');
    return { id, sentence, shows: new RegExp(`^${facts}`) };
  });
/**
 * Every situation that a budget of seeds must reach, because no rule judges what no seed reaches.
 */
export const SITUATIONS: Readonly<Record<string, string>> = Object.fromEntries(
  ROWS.map(({ id, sentence }) => [id, sentence]),
);
/** The situations that occurred in a run. */
export const situationsIn = (tally: Readonly<Record<string, number>>): readonly string[] => {
  const facts = Object.keys(tally);
  return ROWS.flatMap(({ id, shows }) => (facts.some((fact) => shows.test(fact)) ? [id] : []));
};
