import { FreezeButtons } from '../../acts/freeze.tsx';
import type { GuardScopeInFull } from '../../api/resources.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { Ends, scopeName } from '../fleet/guard-panel.tsx';

interface ScopesProps {
  readonly scopes: readonly GuardScopeInFull[];
}

/** The scopes of the guard: state, budget, and the rule that would stop recovery next. */
export const Scopes = ({ scopes }: ScopesProps) => (
  <Panel title={texts.guard.scopes} className="scopes">
    <Table label={texts.guard.scopes} columns={texts.guard.scopeColumns} figures={[4, 5, 6]}>
      {scopes.map((scope) => (
        <Scope key={scope.scope} {...scope} />
      ))}
    </Table>
  </Panel>
);

function Scope(scope: GuardScopeInFull) {
  const { scope: name, state, sinceMs, reason, frozen, started, silent } = scope;
  const { permits, budget, waiting } = scope;
  return (
    <>
      <tr data-scope={name} data-guard={state}>
        <th scope="row">{scopeName(name)}</th>
        <td className="guard-word">{texts.guard.word[state]}</td>
        <td>{sinceMs === null ? texts.none : <Since atMs={sinceMs} />}</td>
        <td>{frozen?.by ?? texts.none}</td>
        <td className="number">{texts.guard.silentOf(silent, started)}</td>
        <td className="number">
          {permits === null || budget === null
            ? texts.none
            : texts.guard.permitsOf(permits, budget)}
        </td>
        <td className="number">{texts.figure(waiting)}</td>
        <td>{nearest(scope)}</td>
        <td>
          <FreezeButtons
            scope={name}
            isFrozen={frozen !== null}
            isByHand={frozen?.kind === 'manual'}
          />
        </td>
      </tr>
      {reason !== null && (
        <tr className="reason" data-guard={state}>
          <td colSpan={9}>
            {reason}
            <Ends {...scope} />
          </td>
        </tr>
      )}
    </>
  );
}

/** The rule that would stop recovery next, and the machines left until then. */
function nearest({ frozen, rules }: GuardScopeInFull): string {
  const [rule] = rules;
  if (frozen !== null || rule === undefined) return texts.none;
  return rule.more === null ? texts.guard.neverStops : texts.guard.stopsAfter[rule.rule](rule.more);
}
