import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { tokens, type Token, whoami } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { Grant } from './grant.tsx';

/** The table of tokens. `act`: the buttons of a token. */
export function TokenTable({ act }: { readonly act?: (token: Token) => ReactNode }) {
  const caller = useQuery(whoami);
  return (
    <Loaded query={caller}>
      {({ rights }) =>
        rights.includes('operate') ? (
          <Tokens act={act} />
        ) : (
          <p className="quiet">{texts.access.tokensHidden}</p>
        )
      }
    </Loaded>
  );
}

function Tokens({ act }: { readonly act: ((token: Token) => ReactNode) | undefined }) {
  return (
    <Loaded query={useQuery(tokens)}>
      {(all) =>
        all.length === 0 ? (
          <p className="quiet">{texts.access.noTokens}</p>
        ) : (
          <Table label={texts.access.tokens} columns={texts.access.tokenColumns}>
            {all.map((token) => (
              <tr key={token.id} data-token={token.id}>
                <th scope="row">
                  {token.name} <div className="mono quiet">{token.id}</div>
                </th>
                <td className="mono">{token.owner}</td>
                <Grant {...token} />
                <td>
                  <Ago atMs={token.createdAtMs} />
                </td>
                <td>
                  {token.lastUsedAtMs === null ? (
                    texts.access.never
                  ) : (
                    <Ago atMs={token.lastUsedAtMs} />
                  )}
                </td>
                <td>
                  <Ending {...token} />
                </td>
                <td>{token.revokedAtMs === null && act?.(token)}</td>
              </tr>
            ))}
          </Table>
        )
      }
    </Loaded>
  );
}

function Ending({ revokedAtMs, revokedBy, expiresAtMs, hasEnded }: Token) {
  if (revokedAtMs !== null) {
    return (
      <>
        <span className="chip">{texts.access.revoked}</span> <Ago atMs={revokedAtMs} />{' '}
        {revokedBy !== null && texts.access.revokedBy(revokedBy)}
      </>
    );
  }
  if (hasEnded) return <span className="chip">{texts.access.ended}</span>;
  return <Until atMs={expiresAtMs} />;
}
