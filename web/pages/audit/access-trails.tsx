import { texts } from '../../texts.ts';
import { Panel } from '../../parts/panel.tsx';
import { LoginTable } from '../settings/login-table.tsx';
import { TokenTable } from '../settings/token-table.tsx';

/** The open logins. */
export const LoginTrail = () => (
  <Panel title={texts.access.logins} aside={texts.access.ownLogins} className="trail">
    <LoginTable />
  </Panel>
);

/** All tokens, including revoked tokens. */
export const TokenTrail = () => (
  <Panel title={texts.access.tokens} aside={texts.access.ownTokens} className="trail">
    <TokenTable />
  </Panel>
);
