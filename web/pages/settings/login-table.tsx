import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { logins, type Login } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { Grant } from './grant.tsx';

/** The table of logins. `act`: the buttons of a login. */
export function LoginTable({ act }: { readonly act?: (login: Login) => ReactNode }) {
  return (
    <Loaded query={useQuery(logins)}>
      {(all) =>
        all.length === 0 ? (
          <p className="quiet">{texts.access.noLogins}</p>
        ) : (
          <Table label={texts.access.logins} columns={texts.access.loginColumns}>
            {all.map((login) => (
              <tr key={login.id} data-login={login.id}>
                <th scope="row">
                  <span className="mono">{login.name}</span>{' '}
                  {!login.proven && <span className="chip">{texts.audit.claim}</span>}{' '}
                  {login.isThis && <span className="chip">{texts.access.thisOne}</span>}
                </th>
                <Grant {...login} />
                <td>
                  <Ago atMs={login.openedAtMs} />
                </td>
                <td>
                  <Ago atMs={login.lastUsedAtMs} />
                </td>
                <td>
                  <Until atMs={login.endsAtMs} />
                </td>
                <td>{act?.(login)}</td>
              </tr>
            ))}
          </Table>
        )
      }
    </Loaded>
  );
}
