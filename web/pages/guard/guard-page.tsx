import { useQuery } from '@tanstack/react-query';
import { OnlyLook } from '../../acts/at-large.tsx';
import { guardInFull } from '../../api/resources.ts';
import { useView } from '../../live/connection.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Notice } from '../../parts/panel.tsx';
import { Spoken } from '../../parts/spoken.tsx';
import { texts } from '../../texts.ts';
import { Budgets } from './budgets.tsx';
import { Rules } from './rules.tsx';
import { Scopes } from './scopes.tsx';
import { Waiting } from './waiting.tsx';

/** The page of the guard: scopes, rules, budget, and machines that wait. */
export function GuardPage() {
  useView({ view: 'fleet' });
  const told = useQuery(guardInFull);
  return (
    <div className="guard-page">
      <h1>{texts.pages.guard}</h1>
      <Loaded query={told}>
        {({ state, scopes, budget, waiting, mayEraseDisks }) => (
          <div className="stack" data-ready>
            <p className="guard-sentence" data-guard={state}>
              {texts.guard.sentence[state]}
            </p>
            <Spoken text={texts.guard.sentence[state]} />
            {mayEraseDisks.length > 0 && (
              <Notice tone="warn">{texts.fleet.erasing(mayEraseDisks.join(', '))}</Notice>
            )}
            <OnlyLook />
            <Scopes scopes={scopes} />
            <div className="halves">
              <Rules scopes={scopes} />
              <div className="column">
                <Waiting
                  waiting={waiting}
                  total={budget.find(({ scope }) => scope === 'fleet')?.waiting ?? waiting.length}
                />
                <Budgets budget={budget} />
              </div>
            </div>
          </div>
        )}
      </Loaded>
    </div>
  );
}
