import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import {
  CONDITIONS_FILTER,
  headlineText,
  type Headline as Shares,
} from '../../../src/domain/headline.ts';
import { STATES } from '../../../src/domain/states.ts';
import type { Frame } from '../../api/types.ts';
import { Spoken } from '../../parts/spoken.tsx';
import { texts } from '../../texts.ts';
import { term } from '../machines/search.ts';

/** The headline, and the number of machines in each state. */
export const Headline = ({ counts, headline }: Pick<Frame, 'counts' | 'headline'>) => (
  <section className="headline" aria-label={texts.fleet.tiles}>
    <p className="figures">
      <ShareLinks {...headline} />
    </p>
    <ShareBar {...headline} />
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
            <span className="state" data-state={state} data-tone={alarmIn(state, headline)?.tone}>
              {state}
            </span>
            <Alarms state={state} {...headline} />
          </Link>
        </li>
      ))}
    </ul>
    <Spoken text={headlineText(headline)} />
  </section>
);

/** Machines of a state that have a problem. */
const alarmsIn = (state: string, { shares }: Pick<Shares, 'shares'>) =>
  shares.filter(
    ({ tone, filter }) =>
      (tone === 'bad' || tone === 'warn') && filter.startsWith(`state:${state}/`),
  );
const alarmIn = (state: string, headline: Pick<Shares, 'shares'>) => alarmsIn(state, headline)[0];

const Alarms = ({ state, shares }: Pick<Shares, 'shares'> & { readonly state: string }) =>
  alarmsIn(state, { shares }).map(({ word, machines, tone }) => (
    <span key={word} className="share" data-tone={tone}>
      {' · '}
      {texts.figure(machines)} {word}
    </span>
  ));

/** `2 healthy · 10 silent of 12`. Each part links to the machines that it counts. */
export const ShareLinks = ({
  total,
  shares,
  conditions,
  within = '',
}: Shares & { readonly within?: string }) => (
  <>
    {shares.map(({ word, machines, tone, filter }, at) => (
      <Fragment key={word}>
        {at > 0 && ' · '}
        <Link
          to="/machines"
          search={{ filter: within + filter }}
          className="share"
          data-tone={tone}
        >
          <b>{texts.figure(machines)}</b> {word}
        </Link>
      </Fragment>
    ))}
    {total === 0 ? texts.fleet.empty : ` ${texts.fleet.of(total)}`}
    {conditions > 0 && (
      <>
        {', '}
        <Link to="/machines" search={{ filter: within + CONDITIONS_FILTER }} className="share">
          <b>{texts.figure(conditions)}</b> {texts.fleet.conditions}
        </Link>
      </>
    )}
  </>
);

/** Hidden from screen readers, because the figures beside it say the same. */
export const ShareBar = ({ shares }: Pick<Shares, 'shares'>) => (
  <div className="bar" aria-hidden="true">
    {shares.map(({ word, tone, machines }) => (
      <i key={word} data-tone={tone} style={{ flexGrow: machines }} />
    ))}
  </div>
);
