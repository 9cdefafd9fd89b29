import type { Frame, GuardScope } from '../../api/types.ts';
import { Link } from '@tanstack/react-router';
import { FreezeButtons } from '../../acts/freeze.tsx';
import { budgetScope } from '../../../src/domain/recovery/permits.ts';
import { Panel } from '../../parts/panel.tsx';
import { Scrolls } from '../../parts/table.tsx';
import { Spoken } from '../../parts/spoken.tsx';
import { Since, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

export const scopeName = (scope: string): string =>
  scope === 'fleet' ? texts.guard.fleet : texts.fleet.provider(scope);

/** What ends the state of a scope, and how long that takes. */
export const Ends = ({ ends, endsAtMs }: Pick<GuardScope, 'ends' | 'endsAtMs'>) =>
  ends !== null && (
    <span className="quiet">
      . {ends} {endsAtMs !== null && <Until atMs={endsAtMs} />}
    </span>
  );

type RowProps = GuardScope & Pick<Frame, 'budget'>;

/** Whether Shepherd recovers machines now, and why not, for each scope. */
export const GuardPanel = ({ guard, budget }: Pick<Frame, 'guard' | 'budget'>) => (
  <Panel
    title={<span id="guard">{texts.guard.title}</span>}
    aside={<Link to="/guard">{texts.guard.allOfIt}</Link>}
    className="guard"
  >
    <p className="guard-sentence" data-guard={guard.state}>
      {texts.guard.sentence[guard.state]}
    </p>
    <Spoken text={texts.guard.sentence[guard.state]} />
    <p>
      <FreezeButtons
        scope="fleet"
        isFrozen={guard.scopes.some(({ scope, state }) => scope === 'fleet' && state === 'frozen')}
      />{' '}
      <span className="quiet">{texts.guard.wholeFleet}</span>
    </p>
    <Scrolls label={texts.guard.title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.guard.scope}</th>
            <th scope="col">{texts.guard.state}</th>
            <th scope="col">{texts.guard.since}</th>
            <th scope="col" className="number">
              {texts.guard.silent}
            </th>
            <th scope="col" className="number">
              {texts.guard.permits}
            </th>
          </tr>
        </thead>
        <tbody>
          {guard.scopes.map((scope) => (
            <Row key={scope.scope} {...scope} budget={budget} />
          ))}
        </tbody>
      </table>
    </Scrolls>
  </Panel>
);

const Row = ({ scope, state, sinceMs, reason, started, silent, budget, ...end }: RowProps) => (
  <>
    <tr data-scope={scope} data-guard={state}>
      <th scope="row">{scopeName(scope)}</th>
      <td className="guard-word">{texts.guard.word[state]}</td>
      <td>{sinceMs === null ? texts.none : <Since atMs={sinceMs} />}</td>
      <td className="number">{texts.guard.silentOf(silent, started)}</td>
      <td className="number">
        {budget
          .filter((each) => each.scope === budgetScope(scope))
          .map((each) => texts.guard.permitsOf(each.permits, each.budget))}
      </td>
    </tr>
    {reason !== null && (
      <tr className="reason">
        <td colSpan={5}>
          {reason}
          <Ends {...end} />
        </td>
      </tr>
    )}
  </>
);
