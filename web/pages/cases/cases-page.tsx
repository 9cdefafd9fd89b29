import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { cases } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { Ticket } from './case-page.tsx';

/** The page of open repairs. */
export function CasesPage() {
  return (
    <>
      <h1>{texts.pages.cases}</h1>
      <Loaded query={useQuery(cases)}>
        {(open) =>
          open.length === 0 ? (
            <p className="quiet" data-ready>
              {texts.cases.none}
            </p>
          ) : (
            <div className="stack" data-ready>
              <Panel title={texts.cases.open}>
                <Table label={texts.pages.cases} columns={texts.cases.columns}>
                  {open.map(({ id, slot, openedAtMs, title, ticketUrl }) => (
                    <tr key={id} data-case={id}>
                      <th scope="row">
                        <Link to="/cases/$id" params={{ id }}>
                          {id}
                        </Link>
                      </th>
                      <td>
                        <MachineLink slot={slot} />
                      </td>
                      <td>
                        <Since atMs={openedAtMs} />
                      </td>
                      <td>{title}</td>
                      <td>
                        <Ticket url={ticketUrl} />
                      </td>
                    </tr>
                  ))}
                </Table>
              </Panel>
            </div>
          )
        }
      </Loaded>
    </>
  );
}
