import { useState } from 'react';

import { Button } from './button';
import './command.css';

/** A command line to copy. */
export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    window.setTimeout(() => setCopied(false), 2000);
  };
  return (
    <div className="command">
      <code className="grow">{text}</code>
      <Button kind="quiet" onClick={() => void copy()} aria-label={`Copy ${text}`}>
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
