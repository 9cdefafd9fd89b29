import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { batchNumber, type RollState } from '../../../src/domain/rolling.ts';
import { ConfirmButton } from '../../acts/confirm-button.tsx';
import { controlRoll, rolls, type Roll } from '../../api/resources.ts';
import { useNow } from '../../live/clock.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Notice, Panel } from '../../parts/panel.tsx';
import { Ago, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** Ended rolls that are shown at once; older ones can be unfolded. */
const ENDED_MAX = 2;
const FAILURES_MAX = 5;
const TONES: Readonly<Record<RollState, string>> = {
  running: 'good',
  paused: 'warn',
  stopped: 'bad',
  done: 'quiet',
  aborted: 'quiet',
};

/** Rolling actions: those that go on, then those that ended last. Nothing if there was never one. */
export function Rolls() {
  const { data = [], error } = useQuery(rolls);
  if (data.length === 0 && error === null) return null;
  const open = data.filter(isOpen);
  const ended = data.filter((roll) => !isOpen(roll));
  return (
    <Panel title={texts.rolls.title} className="rolls">
      {error !== null && (
        <Notice tone="bad" title={texts.failed}>
          <p role="alert">{error.message}</p>
        </Notice>
      )}
      <RollList all={[...open, ...ended.slice(0, ENDED_MAX)]} />
      {ended.length > ENDED_MAX && (
        <details>
          <summary>{texts.rolls.older(ended.length - ENDED_MAX)}</summary>
          <RollList all={ended.slice(ENDED_MAX)} />
        </details>
      )}
    </Panel>
  );
}

const isOpen = ({ state }: Roll): boolean => state === 'running' || state === 'paused';

const RollList = ({ all }: { readonly all: readonly Roll[] }) => (
  <ul>
    {all.map((roll) => (
      <RollItem key={roll.id} {...roll} />
    ))}
  </ul>
);

function RollItem(roll: Roll) {
  const { id, action, filter, state, position, count, batches, failures } = roll;
  return (
    <li data-roll={id}>
      <header>
        <span className="state" data-tone={TONES[state]}>
          <b>{state}</b>
        </span>
        <span>
          {texts.rolls.of(action, count)}{' '}
          <Link to="/machines" search={{ filter }} className="mono">
            {filter}
          </Link>
        </span>
        <span className="buttons">
          {roll.controls.map((verb) => (
            <ConfirmButton
              key={verb}
              {...texts.rolls.controls[verb]}
              title={texts.rolls.titleOf(verb, action, count)}
              command={['fleet', 'roll', verb, id]}
              act={() => controlRoll(id, verb)}
              of="rolls"
            />
          ))}
        </span>
      </header>
      <p className="measure">
        <progress
          value={position}
          max={count}
          data-tone={TONES[state]}
          aria-label={texts.rolls.title}
        />
        <span>
          {texts.rolls.progress(position, count)}
          {isOpen(roll) &&
            ` · ${texts.rolls.batch(batchNumber(batches, position), batches.length)}`}
          {failures.length > 0 && (
            <span className="calls">{` · ${texts.rolls.failed(failures.length)}`}</span>
          )}
        </span>
      </p>
      <Note {...roll} />
      <Failures failures={failures} />
      <p className="why">
        {roll.by}, <Ago atMs={roll.createdAtMs} />: {roll.reason}
      </p>
    </li>
  );
}

/** What it waits for. A roll that failed shows its failures instead. */
function Note({ state, note, nextAtMs, failures }: Roll) {
  const nowMs = useNow();
  if (state === 'running' && nextAtMs !== null && nowMs < nextAtMs) {
    return (
      <p>
        {texts.rolls.next} <Until atMs={nextAtMs} />
      </p>
    );
  }
  const isTold = state === 'done' || (state === 'stopped' && failures.length > 0);
  return note !== null && !isTold && <p>{note}</p>;
}

const Failures = ({ failures }: Pick<Roll, 'failures'>) =>
  failures.length > 0 && (
    <ul className="failures">
      {failures.slice(0, FAILURES_MAX).map(({ slot, why }) => (
        <li key={slot}>
          <MachineLink slot={slot} /> {why}
        </li>
      ))}
      {failures.length > FAILURES_MAX && (
        <li className="quiet">{texts.providers.more(failures.length - FAILURES_MAX)}</li>
      )}
    </ul>
  );
