import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { endLogin, revokeToken, whoami } from '../../api/resources.ts';
import { Panel } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';
import { ConfirmButton } from '../../acts/confirm-button.tsx';
import { LoginTable } from './login-table.tsx';
import { NewTokenDialog } from './new-token.tsx';
import { TokenTable } from './token-table.tsx';
import { Webhooks } from './webhooks.tsx';
import { You } from './you.tsx';

/** The page of settings: the reader, logins, tokens, webhooks and licences. */
export function SettingsPage() {
  return (
    <>
      <h1>{texts.pages.settings}</h1>
      <div className="stack">
        <You />
        <Panel title={texts.access.logins} aside={texts.access.ownLogins} className="logins">
          <LoginTable
            act={({ id, name }) => (
              <ConfirmButton
                label={texts.access.end}
                title={texts.access.endOf(name)}
                why={texts.access.endWhy}
                command={['api', 'DELETE', `/logins/${id}`]}
                act={() => endLogin(id)}
                of="logins"
              />
            )}
          />
        </Panel>
        <Tokens />
        <Webhooks />
        <Panel title={texts.access.licences}>
          <p>
            {texts.access.licencesWhy} <a href="/licences.md">{texts.access.licencesOf}</a>
          </p>
        </Panel>
      </div>
    </>
  );
}

function Tokens() {
  const caller = useQuery(whoami).data;
  const [isMaking, setIsMaking] = useState(false);
  return (
    <Panel
      title={texts.access.tokens}
      aside={
        caller?.rights.includes('operate') === true ? (
          <button type="button" aria-haspopup="dialog" onClick={() => setIsMaking(true)}>
            {texts.access.make}
          </button>
        ) : null
      }
      className="tokens"
    >
      <TokenTable
        act={({ id, name }) => (
          <ConfirmButton
            label={texts.access.revoke}
            title={texts.access.revokeOf(name)}
            why={texts.access.revokeWhy}
            command={['token', 'revoke', id]}
            act={() => revokeToken(id)}
            of="tokens"
          />
        )}
      />
      <p>
        <Link to="/device">{texts.access.inTerminal}</Link>
      </p>
      {isMaking && caller !== undefined && (
        <NewTokenDialog caller={caller} close={() => setIsMaking(false)} />
      )}
    </Panel>
  );
}
