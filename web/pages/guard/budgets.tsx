import type { GuardInFull } from '../../api/resources.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';

/** Used and allowed permits for the fleet, each provider and each location. */
export const Budgets = ({ budget }: Pick<GuardInFull, 'budget'>) => (
  <Panel title={texts.guard.budget}>
    {budget.length === 0 ? (
      <p className="quiet">{texts.guard.noBudget}</p>
    ) : (
      <Table label={texts.guard.budget} columns={texts.guard.budgetColumns} figures={[1, 2, 3]}>
        {budget.map(({ scope, permits, budget: most, waiting }) => (
          <tr key={scope} data-budget={scope}>
            <th scope="row">{scope}</th>
            <td className="number">{texts.figure(permits)}</td>
            <td className="number">{texts.figure(most)}</td>
            <td className="number">{texts.figure(waiting)}</td>
          </tr>
        ))}
      </Table>
    )}
  </Panel>
);
