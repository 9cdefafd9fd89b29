import type { GuardScopeInFull } from '../../api/resources.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';
import { scopeName } from '../fleet/guard-panel.tsx';

/** The rules that stop recovery in each scope, with their counts and limits. */
export const Rules = ({ scopes }: { readonly scopes: readonly GuardScopeInFull[] }) => (
  <Panel title={texts.guard.rules} className="rules">
    {scopes.every(({ rules }) => rules.length === 0) ? (
      <p className="quiet">{texts.guard.noRules}</p>
    ) : (
      <Table label={texts.guard.rules} columns={texts.guard.ruleColumns} figures={[2, 3, 4]}>
        {scopes.flatMap(({ scope, rules }) =>
          rules.map(({ rule, count, of, limit, more }) => (
            <tr key={`${scope} ${rule}`} data-rule={rule} data-stops={more === 0 || undefined}>
              <th scope="row">{scopeName(scope)}</th>
              <td>{texts.guard.rule[rule]}</td>
              <td className="number">{texts.guard.silentOf(count, of)}</td>
              <td className="number">{texts.figure(limit)}</td>
              <td className="number">
                {more === null ? texts.guard.never : texts.guard.more(more)}
              </td>
            </tr>
          )),
        )}
      </Table>
    )}
  </Panel>
);
