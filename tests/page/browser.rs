//! A headless Chromium, spoken to over two pipes by the Chrome DevTools Protocol
//! (<https://chromedevtools.github.io/devtools-protocol/>; `--remote-debugging-pipe`: messages are
//! JSON, each ends with a zero byte; the browser reads descriptor 3 and writes descriptor 4).

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine;
use nix::unistd::pipe2;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser with one page. It does not outlive a test that fails.
pub struct Browser {
    process: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    last: u64,
    /// All that the browser has told without being asked.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Nothing to kill where it has ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts one. `make deps` installs it.
    pub fn new() -> Self {
        let profile = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (read_by_it, to) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).unwrap();
        let (from, written_by_it) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).unwrap();
        let mut command = Command::new("chromium");
        command
            .args(["--headless", "--disable-gpu", "--remote-debugging-pipe"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args([
                "--disable-sync",
                "--no-first-run",
                "--disable-dev-shm-usage",
            ])
            .arg("--hide-scrollbars")
            // Root has none, nor do most containers; the page is our own.
            .arg("--no-sandbox")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let ends: [OwnedFd; 2] = [read_by_it, written_by_it];
        let numbers = ends.each_ref().map(AsRawFd::as_raw_fd);
        // SAFETY: system calls only, between fork and exec; the descriptors are open until then.
        unsafe {
            command.pre_exec(move || {
                // Both out of the way first: either could be 3 or 4 itself.
                let spare = numbers.map(|fd| libc::fcntl(fd, libc::F_DUPFD, 10));
                for (fd, target) in spare.into_iter().zip([3, 4]) {
                    if fd < 0 || libc::dup2(fd, target) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let process = command.spawn().expect("chromium: make deps installs it");
        drop(ends);
        let mut browser = Browser {
            process,
            to: to.into(),
            from: BufReader::new(from.into()),
            session: String::new(),
            last: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let page = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let target = page["targetId"].clone();
        let attach = json!({"targetId": target, "flatten": true});
        let session = browser.ask("Target.attachToTarget", attach)["sessionId"].clone();
        browser.session = session.as_str().unwrap().to_owned();
        for domain in ["Page", "Network", "Runtime", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sets how wide the page is, and the reader's colour scheme: `light` or `dark`.
    pub fn look(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({"name": "prefers-color-scheme", "value": scheme});
        self.ask("Emulation.setEmulatedMedia", json!({"features": [scheme]}));
    }

    /// Loads a file, and waits until it is there.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        let url = format!("file://{}", file.display());
        let answer = self.ask("Page.navigate", json!({"url": url}));
        assert_eq!(answer["errorText"], Value::Null, "{url}");
        while !self.told("Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    fn told(&self, method: &str) -> bool {
        self.events.iter().any(|event| event["method"] == method)
    }

    /// What an expression is in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", ask);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].clone()
    }

    /// A picture of the whole page, as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let ask = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.ask("Page.captureScreenshot", ask);
        let text = answer["data"].as_str().unwrap().to_owned();
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap()
    }

    /// Shows the page as it is on paper.
    pub fn print(&mut self) {
        self.ask("Emulation.setEmulatedMedia", json!({"media": "print"}));
    }

    /// The page as it is printed, as PDF.
    pub fn printed(&mut self) -> Vec<u8> {
        let answer = self.ask("Page.printToPDF", json!({"printBackground": false}));
        let text = answer["data"].as_str().unwrap().to_owned();
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap()
    }

    /// Calls a method, and waits for its answer.
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        loop {
            let mut answer = self.read();
            if answer["id"] == self.last {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&message).unwrap()
    }
}
