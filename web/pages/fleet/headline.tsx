import { Link } from '@tanstack/react-router';
import { STATES } from '../../../src/domain/states.ts';
import type { Frame } from '../../api/types.ts';
import { Spoken } from '../../parts/spoken.tsx';
import { texts } from '../../texts.ts';
import { term } from '../machines/search.ts';

/** How many run, and how many are in each state. */
export const Headline = ({ counts, total, guard }: Pick<Frame, 'counts' | 'total' | 'guard'>) => (
  <section className="headline" aria-label={texts.fleet.tiles}>
    <p className="figures">
      <b>{texts.figure(counts.Running)}</b> {texts.fleet.running(total - counts.Released)}
      <Silent count={guard.scopes.find(({ scope }) => scope === 'fleet')?.silent ?? 0} />
    </p>
    <StateBar counts={counts} />
    <ul className="tiles">
      {STATES.map((state) => (
        <li key={state}>
          <Link
            to="/machines"
            search={{ filter: term('state', state) }}
            title={texts.states[state]}
            data-state={state}
            data-none={counts[state] === 0 || undefined}
          >
            <b>{texts.figure(counts[state])}</b>
            <span className="state" data-state={state}>
              {state}
            </span>
          </Link>
        </li>
      ))}
    </ul>
    <Spoken text={toldOf(counts)} />
  </section>
);

/** Of those that are to run, and of those that are being brought back. */
const Silent = ({ count }: { readonly count: number }) =>
  count > 0 && (
    <>
      {' · '}
      <span className="calls">{texts.fleet.silent(count)}</span>
    </>
  );

/** To the eye alone: figures stand beside it. */
export const StateBar = ({ counts }: { readonly counts: Partial<Frame['counts']> }) => (
  <div className="bar" aria-hidden="true">
    {STATES.filter((state) => counts[state]).map((state) => (
      <i key={state} data-state={state} style={{ flexGrow: counts[state] }} />
    ))}
  </div>
);

const toldOf = (counts: Frame['counts']): string =>
  texts.fleet.spoken(
    STATES.filter((state) => counts[state] > 0).map((state) => [counts[state], state] as const),
  );
