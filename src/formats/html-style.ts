import { createHash } from 'node:crypto';

/** The style of every page. On narrow screens each row of a list becomes a block of labelled values. */
export const STYLE = `:root{color-scheme:light dark;--text:#1b1f24;--dim:#57606a;--line:#d8dee4;--edge:#7d8590;--link:#0b5cad;--ground:#fff;--soft:#f4f6f8;--bad:#b42318}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--dim:#9198a1;--line:#30363d;--edge:#7d8590;--link:#6cb2ff;--ground:#0d1117;--soft:#161b22;--bad:#ff8f86}}
*{box-sizing:border-box}body{margin:0;font:16px/1.5 system-ui,sans-serif;color:var(--text);background:var(--ground)}
.top,main,.foot>*{max-width:80rem;margin:0 auto;padding:0 1rem}
.top{display:flex;flex-wrap:wrap;gap:0 1.5rem;justify-content:space-between;padding-top:.5rem;padding-bottom:.5rem}
.bar{border-bottom:1px solid var(--line)}.bar nav,.who{display:flex;flex-wrap:wrap;gap:0 1rem;margin:0}.bar a,.pages a,.formats a{padding:.25rem 0}
.brand{font-weight:700;color:inherit;text-decoration:none}
main{padding-top:1.25rem;padding-bottom:2rem}main.narrow{max-width:28rem;padding-top:2.5rem}
.foot{border-top:1px solid var(--line);padding:.75rem 0 2rem;font-size:.9rem;color:var(--dim)}.foot>p{margin:0 auto;padding:0 1rem .5rem}
h1{font-size:1.6rem;line-height:1.25;margin:.25rem 0 .75rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .5rem}
p,li,dd{overflow-wrap:anywhere}a{color:var(--link)}.dim,.hint{color:var(--dim)}.hint{font-size:.875rem;margin:.15rem 0 0}
.crumbs{font-size:.9rem}.crumbs ol{display:flex;flex-wrap:wrap;list-style:none;margin:0;padding:0}.crumbs li+li::before{content:"/";padding:0 .5rem;color:var(--dim)}
.skip{position:absolute;left:-99rem}.skip:focus{left:.5rem;top:.5rem;background:var(--ground);padding:.5rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.45rem .75rem .45rem 0;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600}td{overflow-wrap:break-word}.list .text{min-width:8rem;max-width:26rem}
.list th,.whole{white-space:nowrap}.list .number{text-align:right;font-variant-numeric:tabular-nums}
.id{font:.8rem/1.9 ui-monospace,monospace;white-space:nowrap}.record td,.record th{overflow-wrap:anywhere}.record td{white-space:pre-wrap}.record th{width:12rem}
pre{margin:0;white-space:pre-wrap;font-size:.85rem;overflow-wrap:anywhere}code{font-size:.875em;overflow-wrap:anywhere}code.big{font-size:1.5rem;letter-spacing:.1em}
.tools,.pages,.formats,.sorts,.chips{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:end;margin:.75rem 0;padding:0;list-style:none}
.tools,.formats{align-items:baseline}.sorts{display:none}[aria-current]{font-weight:700}
form{margin:0}label,legend,.label{font-weight:600}.field{margin:0 0 1rem}.field>label,.field>.label{display:block;margin-bottom:.2rem}fieldset{border:1px solid var(--line);border-radius:6px;margin:0 0 1rem;padding:.5rem .75rem}
input,select,textarea,button,.button{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--edge);border-radius:6px;padding:.4rem .6rem;max-width:100%}
.field input:not([type=checkbox],[type=radio]),.field textarea,.field select{width:100%}.edit{max-width:40rem}.filters{display:grid;grid-template-columns:repeat(auto-fill,minmax(14rem,1fr));gap:0 1rem}.filters .two{display:flex;flex-wrap:wrap;gap:.25rem .5rem}.filters .two input{flex:1 1 5rem;min-width:0}.two [type=date]{flex-basis:9rem}
.check{display:block;font-weight:400;padding:.15rem 0}.checks{columns:14rem}
button,.button{cursor:pointer;background:var(--soft);text-decoration:none;display:inline-block}.main{background:var(--link);border-color:var(--link);color:var(--ground);font-weight:600}.danger{border-color:var(--bad);color:var(--bad)}
.narrow input:not([type=hidden],[hidden]),.narrow form>button{width:100%}.narrow form>label{display:block;margin:1rem 0 .25rem}.narrow form>button{margin-top:1rem}.narrow li form{display:inline}.narrow li button{padding:.1rem .5rem;margin-left:.5rem}
.secret{font-size:1rem;user-select:all}.tools form{display:inline}.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr));gap:.5rem 1.5rem}.sides .field>label{position:absolute;left:-99rem}.stored{padding:.4rem .6rem;background:var(--soft);border-radius:6px}
details{border:1px solid var(--line);border-radius:6px;margin:.75rem 0}summary{cursor:pointer;padding:.5rem .75rem;font-weight:600}details>:not(summary){margin:.5rem .75rem 1rem}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.error,.note{border-left:4px solid var(--bad);padding:.1rem 0 .1rem .75rem}.note{border-color:var(--link)}div.error{margin-bottom:1rem}.error{color:var(--bad)}.field .error{border:0;padding:0;margin:.2rem 0 0}[aria-invalid]{border-color:var(--bad)}
@media (max-width:40rem){.list thead{display:none}.sorts{display:flex}
.list,.list tbody,.list tr,.list td,.record,.record tbody,.record tr,.record th,.record td{display:block;width:auto}
.list tr{padding:.6rem 0;border-bottom:1px solid var(--line)}.list td:empty{display:none}
.list td,.list .text,.record th,.record td{border:0;padding:.1rem 0;min-width:0;max-width:none;text-align:left;overflow-wrap:anywhere}
.list td::before{content:attr(data-label) ": ";color:var(--dim);font:1rem/1.5 system-ui,sans-serif}
.list td.id::before{content:none}.list .number{text-align:left}.record tr{border-bottom:1px solid var(--line);padding:.35rem 0}.id{font-size:.74rem}.whole{white-space:normal}}`;

/** The source expression of the style, for the policy of pages. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
