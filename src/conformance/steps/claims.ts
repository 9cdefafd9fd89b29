import { namesOf } from '../ledger.ts';
import { requestOf } from '../request.ts';
import { callOf, type Stage } from '../stage.ts';
import type { Step } from '../step.ts';
import { toldStrays, straysOf } from '../strays.ts';
import { must, StepSkipped } from '../verdict.ts';
import { pending, until } from '../waiting.ts';

/** A claim that stays keeps its slot from everybody, and the next one who asks for it. */
export const unclaimed: Step = {
  id: 'claims-dropped',
  title: 'Nothing is kept on record of a machine that is gone',
  needs: ['create', 'deprovision'],
  takes: ['gone'],
  async run(stage, signal) {
    requireClaims(stage);
    const { subject, found, patience, ledger } = stage;
    const names = ledger.creations.flatMap(namesOf);
    const { reservationId, id } = found.unused!;
    const wait = stage.wait({
      signal,
      timeoutMs: patience.destroyMs,
      intervalMs: patience.probeMs,
    });
    await until('nothing is kept', wait, async () => {
      const left = await subject.claims(names, signal);
      if (left.length === 0) return true;
      // Some free a slot bit by bit, as often as they are asked how far it is.
      await stage.opened().fleet.isReusable(reservationId ?? id!, callOf(signal));
      return pending(`still on record: ${left.join(', ')}`);
    });
  },
};

/** Whoever dies in the middle of a creation is found again by its claim: so that comes first. */
export const claimed: Step = {
  id: 'claims',
  title: 'A machine of which nothing can be put on record is not made',
  needs: ['create', 'deprovision'],
  takes: ['free'],
  async run(stage, signal) {
    requireClaims(stage);
    const { subject, found } = stage;
    const { raw } = stage.opened();
    const mark = stage.newWitness();
    const order = requestOf(stage, found.unused!, mark);
    const made = await subject.withoutRecords(() =>
      stage
        .raw('Create', signal, (options) => raw.createMachine(order, options), mark)
        .then(
          (machine) => machine?.id ?? 'without an id',
          () => null,
        ),
    );
    signal.throwIfAborted();
    must(
      made === null,
      `nothing could be put on record, and machine ${made} was made all the same`,
    );
    const strays = await straysOf(stage, signal, found.goneIds);
    must(strays.length === 0, `nothing could be put on record, and ${toldStrays(strays)}`);
  },
};

function requireClaims({ ledger }: Stage): void {
  if (ledger.creations.some(({ claims }) => claims.length > 0)) return;
  throw new StepSkipped('the driver keeps nothing of its machines on record');
}
